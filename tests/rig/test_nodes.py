"""`nodes = 2`: what a rig must say, and what it is on each of its hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.errors import RigError, UsageError
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.nodes import nodes_of
from tokgate.server.command_line import launch_line, rig_line

ROOT = Path(__file__).parents[2]
TWO = (
    "server.nodes=2",
    "gpus.count=16",
    'host.testinfra="ssh://me@gpu7"',
    'host.environment={A="1", B="1"}',
    'host.nodes=[{testinfra="ssh://me@gpu8", work_dir="/scratch/t", environment={B="2"}}]',
)


def loaded(*more: str) -> Rig:
    return load_rig("sim-8gpu", root=ROOT, overrides=(*TWO, *more))


def refusal(*more: str) -> str:
    with pytest.raises(RigError) as refused:
        loaded(*more)
    return refused.value.found


def test_a_rig_on_one_host_is_its_only_node_untouched() -> None:
    rig = load_rig("sim-8gpu", root=ROOT)
    (node,) = nodes_of(rig)
    assert node.rig is rig


def test_each_node_has_its_host_and_its_share_of_the_gpus() -> None:
    first, second = nodes_of(loaded())
    assert (first.rig.host.testinfra, second.rig.host.testinfra) == ("ssh://me@gpu7", "ssh://me@gpu8")
    assert (first.rig.gpus.count, second.rig.gpus.count) == (8, 8)
    assert second.rig.host.work_dir == "/scratch/t"
    assert second.rig.host.python == first.rig.host.python
    assert second.rig.host.environment["A"] == "1", "what a node does not say is as the host has it"
    assert second.rig.host.environment["B"] == "2"


def test_the_line_of_each_node_differs_in_its_rank_alone() -> None:
    rig = loaded()
    lines = [rig_line(node.launched("10.0.0.1:20000"), rig.control) for node in nodes_of(rig)]
    assert "--nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:20000" in lines[0]
    assert lines[0].replace("--node-rank 0", "--node-rank 1") == lines[1]


def test_a_hostile_address_stays_one_word_of_the_line() -> None:
    node = nodes_of(loaded())[1]
    line = launch_line(
        node.launched("$(touch /tmp/x):1; #"),
        loaded().control,
        port=1,
        api_key="k",
        mark="m",
        log="l",
        pass_environment={},
    )
    assert "--dist-init-addr '$(touch /tmp/x):1; #'" in line.line.shown


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("server.nodes=3", "server.nodes = 3 and 1 further hosts"),
        ("server.nodes=1", "server.nodes = 1 and 1 further hosts"),
        ('host.pool=["ssh://me@gpu7"]', "a pool of 1 hosts beside server.nodes = 2"),
        ("server.args.nnodes=2", "with server.nodes the gate writes it on every node's line"),
        ("server.args.dist_init_addr=10.0.0.1:1", "server.dist_init_addr sets the address"),
        ("gpus.count=15", "the same number on each of the 2"),
        ('host.nodes=[{testinfra="ssh://me@gpu7"}]', "a second time"),
        ('host.nodes=[{testinfra="gpu8"}]', "ssh://gpu8 perhaps"),
        ("server.dist_init_addr=10.0.0.1:99999", "a port below 65536"),
        ("server.dist_init_addr=$(id)", "a text that matches"),
    ],
)
def test_what_cannot_be_is_refused_with_the_key(override: str, words: str) -> None:
    assert words in refusal(override)


def test_a_refusal_is_the_persons_to_mend() -> None:
    assert issubclass(RigError, UsageError)


def test_an_address_without_nodes_says_nothing() -> None:
    with pytest.raises(RigError, match="on one host has no node that must find another"):
        load_rig("sim-8gpu", root=ROOT, overrides=("server.dist_init_addr=10.0.0.1",))


@pytest.mark.parametrize("size", [1, 3])
def test_ranks_that_do_not_spread_over_the_nodes_are_refused_before_any_start(size: int) -> None:
    assert f"{size} ranks of the arm baseline" in refusal(f"server.args.tp_size={size}")


def test_a_node_sees_its_own_gpus_and_no_more_are_asked_of_it() -> None:
    eight = 'server.environment={CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"}'
    assert loaded("server.args.tp_size=16", eight).server.nodes == 2
    four = 'server.environment={CUDA_VISIBLE_DEVICES="0,1,2,3"}'
    assert "4 GPUs for the 8 that the arm" in refusal("server.args.tp_size=16", four)
