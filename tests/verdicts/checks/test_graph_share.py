from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_launch, make_rig
from tests.verdicts.phase_evidence import carrying, graphs, phase, table
from tokgate.records import Outcome, Verdict
from tokgate.records.phases import GraphTruth, PhaseTable
from tokgate.verdicts.checks.graph_share import graph_share


def judged(arm: GraphTruth | None, control: GraphTruth | None) -> Verdict:
    baseline = make_launch(phases=PhaseTable(launch="01-baseline", graphs=control))
    (verdict,) = graph_share(make_rig(), carrying(table(phase(), graphs=arm)), baseline, "single")
    return verdict


@pytest.mark.parametrize(
    ("arm", "control", "outcome"),
    [
        (1.0, 1.0, Outcome.PASS),
        (0.0, 1.0, Outcome.REGRESSED),
        (0.5, 1.0, Outcome.REGRESSED),
        (0.0, 0.0, Outcome.PASS),
        (None, 0.0, Outcome.PASS),
        (None, 1.0, Outcome.INCONCLUSIVE),
        (1.0, None, Outcome.INCONCLUSIVE),
    ],
)
def test_verify_has_graphs_where_the_control_arm_has(
    arm: float | None, control: float | None, outcome: Outcome
) -> None:
    verdict = judged(graphs(arm), graphs(control))
    assert verdict.outcome is outcome
    assert (verdict.do is None) is (outcome is Outcome.PASS)


def test_the_source_that_saw_every_step_outranks_the_sample_in_the_log() -> None:
    both = GraphTruth(readings=(*graphs(1.0, n=2).readings, *graphs(0.1, "probe", 400).readings))
    verdict = judged(both, graphs(1.0))
    assert verdict.outcome is Outcome.REGRESSED
    assert "10.0% of 400 verify steps" in verdict.headline
    assert any("decode-log, concurrency 1: 100.0% of 2" in line for line in verdict.evidence)


def test_a_load_beyond_the_captured_batches_is_named() -> None:
    small = graphs(0.0, sizes=(), captured_by="server_info: disable_cuda_graph")
    assert any("concurrency 1 is beyond it" in line for line in judged(small, graphs(1.0)).evidence)


def test_nobody_looked_is_said() -> None:
    assert judged(None, None).outcome is Outcome.INCONCLUSIVE


def under_any_load(share: float, **changes: object) -> GraphTruth:
    truth = graphs(share)
    anywhere = truth.readings[0].model_copy(update={"concurrency": None})
    untold = graphs(None).readings[0]
    return truth.model_copy(update={"readings": (untold, anywhere), **changes})


def test_lines_of_another_load_speak_where_none_is_of_this_one() -> None:
    assert judged(graphs(0.0), under_any_load(0.0)).outcome is Outcome.PASS
    assert judged(graphs(0.0), under_any_load(1.0)).outcome is Outcome.REGRESSED


def test_but_not_for_a_load_beyond_the_captured_batches() -> None:
    assert judged(graphs(0.0), under_any_load(1.0, sizes=(2, 4), padded=False)).outcome is (
        Outcome.INCONCLUSIVE
    )
