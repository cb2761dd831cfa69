from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_launch, make_rig, make_slate
from tokgate.records import GpuSeen, Outcome
from tokgate.verdicts.checks.decode_throughput import decode_throughput
from tokgate.verdicts.checks.environment_truth import environment_truth
from tokgate.verdicts.label import mislabelled, says_simulated


@pytest.mark.parametrize("told", [True, 1, "yes", "simbox", {"truth": "x"}, ["x"]])
def test_whatever_a_server_declares_is_a_declaration(told: Any) -> None:
    assert says_simulated({"simulated": told})


@pytest.mark.parametrize("told", [None, False, 0, "", "false", " No ", {}, []])
def test_no_declaration(told: Any) -> None:
    assert not says_simulated({"simulated": told})
    assert not says_simulated({})


def test_a_server_that_says_it_is_simulated_is_not_judged_by_a_real_rig() -> None:
    rig, launch = make_rig(), make_launch(server_info={"simulated": {"box": "x" * 500}})
    (verdict,) = decode_throughput(rig, launch, "single")

    assert verdict.outcome is Outcome.INVALID
    assert verdict.headline.endswith("the server says it is simulated; the rig does not")
    assert max(len(line) for line in verdict.evidence) < 250
    assert verdict.do
    assert environment_truth(rig, launch)[1].outcome is Outcome.INVALID


def test_a_real_server_is_not_judged_by_a_simulated_rig() -> None:
    (verdict,) = decode_throughput(make_rig(simulated=True), make_launch(), "single")

    assert verdict.outcome is Outcome.INVALID
    assert verdict.headline.endswith("the rig says it is simulated; the server does not")


def test_both_of_one_mind_are_judged() -> None:
    rig, launch = make_rig(simulated=True), make_launch(server_info={"simulated": True})

    assert list(mislabelled(rig, launch)) == []
    assert decode_throughput(rig, launch, "single")[0].outcome is Outcome.PASS
    assert list(mislabelled(make_rig(), make_launch())) == []


def test_where_no_server_was_there_is_no_label_to_dispute() -> None:
    assert list(mislabelled(make_rig(simulated=True), make_launch(server=None))) == []


def card(name: str | None) -> GpuSeen:
    return GpuSeen(index=0, name=name, source="nvidia-smi")


def test_a_gpu_that_calls_itself_simulated_is_no_real_one() -> None:
    slate = make_slate(gpus=(card("Some Card (Simulated)"),))
    (verdict,) = decode_throughput(make_rig(), make_launch(slate=slate), "single")

    assert verdict.outcome is Outcome.INVALID
    assert verdict.headline.endswith("the GPUs' names say that they are simulated; the rig does not")
    assert verdict.evidence[0] == "GPU 0: Some Card (Simulated)"
    assert list(mislabelled(make_rig(), make_launch(server=None, slate=slate)))
    told = make_launch(slate=slate, server_info={"simulated": True})
    assert list(mislabelled(make_rig(simulated=True), told)) == []


@pytest.mark.parametrize("name", ["NVIDIA H200", "Dissimulatedly X", None])
def test_a_plain_name_declares_nothing(name: str | None) -> None:
    slate = make_slate(gpus=(card(name),))
    told = make_launch(slate=slate, server_info={"simulated": True})

    assert list(mislabelled(make_rig(), make_launch(slate=slate))) == []
    assert list(mislabelled(make_rig(simulated=True), told)) == []
