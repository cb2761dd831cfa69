"""The first gate for hosts of several kinds, drawn up without any host."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.rig.first.test_pairing import DRAFT, LLAMA
from tokgate.records.inventory import Inventory, TopologyClass
from tokgate.rig.commented import written
from tokgate.rig.first.choices import Choices, Chosen, Gpus
from tokgate.rig.first.gate import first_gate


def drawn_up(
    topology: TopologyClass, *, gib: float = 300, nccl: dict[str, str] | None = None
) -> tuple[str, dict[str, Any]]:
    seen = LLAMA.model_copy(update={"weight_bytes": int(gib * 2**30)})
    choices = Choices(
        name=Chosen("mybox", "you"),
        host={"testinfra": Chosen("local://", "default")},
        gpus=Chosen(Gpus(8, ("NVIDIA H200",), 143771, topology, ("X",)), "asked host"),
        python=Chosen("/venv/bin/python3", "asked host"),
        sglang="0.5.16",
        on_cpu=False,
        model=Chosen(seen.path, "asked host"),
        model_seen=seen,
        draft=Chosen(DRAFT.path, "asked host"),
        draft_seen=DRAFT,
        fits=None,
        port=Chosen(30000, "default"),
        prompts="prompts/mixed.jsonl",
        inventory=Inventory(host="local://", nccl=nccl or {}),
    )
    text = written(first_gate(choices, date="2026-01-01"))
    return text, tomllib.loads(text)


def test_gpus_behind_pcie_get_the_block_with_what_each_variable_is() -> None:
    text, rig = drawn_up("pcie")
    assert rig["server"]["args"]["disable_custom_all_reduce"] is True
    assert rig["server"]["nccl"]["NCCL_P2P_LEVEL"] == "SYS"
    block = text.partition("[server.nccl]\n")[2].partition("\n\n")[0].splitlines()
    assert len(block) == 6
    assert sum("# default: " in line for line in block) == 4
    assert [line.split()[1] for line in block[4:]] == [
        "NCCL_BUFFSIZE",
        "NCCL_NTHREADS",
    ]  # with LL they do nothing


@pytest.mark.parametrize(("topology", "gib"), [("nvlink", 300), ("unknown", 300), ("none", 15)])
def test_where_nccl_has_nothing_to_do_there_is_no_block_and_a_reason(
    topology: TopologyClass, gib: float
) -> None:
    text, rig = drawn_up(topology, gib=gib)
    assert "nccl" not in rig["server"]
    assert "# No [server.nccl]: " in text
    assert ("# NCCL_ALGO = " in text) is (topology != "none")
    assert "disable_custom_all_reduce" not in rig["server"]["args"]


def test_what_a_login_on_the_host_exports_is_taken_over() -> None:
    mine = {"NCCL_PROTO": "LL128", "NCCL_SOCKET_IFNAME": "eth0"}
    assert drawn_up("nvlink", nccl=mine)[1]["server"]["nccl"] == mine


def test_limits_are_none_but_the_twin() -> None:
    text, rig = drawn_up("pcie")
    assert "budgets" not in rig
    assert rig["twins"] == [{"arm": "*", "workload": "single", "at_least": 1.0}]
    assert "TO BE SET after the first baseline" in text


def test_random_ids_stay_below_the_vocabulary() -> None:
    _, rig = drawn_up("pcie")
    assert 0 < rig["prompt_sets"]["random"]["first_id"] < rig["prompt_sets"]["random"]["last_id"] < 128256
