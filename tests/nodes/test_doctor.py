"""`tokgate doctor` on several hosts: every node of a server, every host of a pool, and what follows for a gate."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.rig import MORE, write_rig
from tests.fleet.stand import Stand

from .rig import two_nodes

pytestmark = [pytest.mark.slow]


class Told:
    def __init__(self, stand: Stand, rig: Path, *options: str) -> None:
        tokgate = str(Path(sys.executable).with_name("tokgate"))
        gate = stand.start(tokgate, "doctor", "--rig", str(rig), "--quick", *options)
        self.code = gate.finish()
        self.said = gate.said()
        self.words = " ".join(self.said.split())


@pytest.fixture
def pool(two_hosts: Stand) -> Path:
    folder = two_hosts.folder / "pool"
    folder.mkdir(exist_ok=True)
    return write_rig(folder, two_hosts.pool_toml(more=MORE), ["arm-1"])


@pytest.fixture
def stranger(two_hosts: Stand) -> Iterator[None]:
    """The key of b is not known."""
    two_hosts.trust("a")
    yield
    two_hosts.trust("a", "b")


def test_every_node_is_looked_at_and_one_line_says_whether_a_gate_can_start(two_hosts: Stand) -> None:
    told = Told(two_hosts, two_nodes(two_hosts, ["arm-1"]))
    assert told.code == 0, told.said
    assert "node 0, ssh://root@10.77.1.2" in told.said
    assert "node 1, ssh://root@10.77.2.2" in told.said
    assert "the server over all nodes" in told.said
    assert told.said.count("2 of 8 GPUs are used in baseline") == 2, "each has its half of 16, and of 4 ranks"
    assert told.said.count("Ready: ") == 1
    assert told.said.count("This machine, which measures") == 1
    assert told.said.splitlines()[-1].startswith("next: pytest perf_tests -m eagle3 --rig ")


def test_a_node_out_of_reach_keeps_a_gate_from_starting(two_hosts: Stand, stranger: None) -> None:
    told = Told(two_hosts, two_nodes(two_hosts, ["arm-1"]))
    assert told.code == 11, told.said
    assert "Not ready: node 1: a gate started now would end with exit code 11." in told.words


def test_every_host_of_a_pool_is_looked_at_and_a_gate_would_admit_both(two_hosts: Stand, pool: Path) -> None:
    told = Told(two_hosts, pool)
    assert told.code == 0, told.said
    assert "host a, ssh://root@10.77.1.2" in told.said
    assert "host b, ssh://root@10.77.2.2" in told.said
    assert "Ready: a gate would measure on a, b." in told.words


def test_a_host_of_a_pool_that_is_out_leaves_the_others_ready(
    two_hosts: Stand, pool: Path, stranger: None
) -> None:
    told = Told(two_hosts, pool)
    assert told.code == 0, told.said
    assert "b: left out: " in told.said
    assert "host key is not known" in told.words
    assert "Ready: a gate would measure on a; not on b, for the reasons above." in told.words
    strict = Told(two_hosts, pool, "--strict", "--json")
    assert strict.code == 11
    rest, decoder, found = strict.said.strip(), json.JSONDecoder(), []
    while rest:
        one, end = decoder.raw_decode(rest)
        found.append(one)
        rest = rest[end:].lstrip()
    assert [one.get("host") for one in found[:2]] == ["ssh://root@10.77.1.2", "ssh://root@10.77.2.2"]
    assert [host["state"] for host in found[2]["pool"]] == ["admitted", "left out"]
