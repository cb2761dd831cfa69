from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_rig
from tests.verdicts.phase_evidence import NO_PROBE, agreement, carrying, phase, table, untold
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase
from tokgate.verdicts.checks.verify_latency import verify_latency


def judged(launch: LaunchEvidence, *limits: dict[str, Any], **rig: Any) -> dict[str | None, Verdict]:
    found = verify_latency(make_rig(budgets=limits, **rig), launch, "single")
    return {v.metric: v for v in found}


def p50(limit: float) -> dict[str, Any]:
    return {"metric": "verify_ms", "at_most": limit}


def test_p50_and_p95_have_budgets_of_their_own() -> None:
    launch = carrying(table(phase(tail=1.5)))

    found = judged(launch, p50(6.0), {"metric": "verify_p95_ms", "at_most": 6.0})

    assert found["verify_ms"].outcome is Outcome.PASS
    assert found["verify_ms"].interval == (5.29, 5.33)
    assert found["verify_ms"].value == 5.31
    assert found["verify_p95_ms"].outcome is Outcome.REGRESSED


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [(5.4, Outcome.PASS), (5.2, Outcome.REGRESSED), (5.31, Outcome.INCONCLUSIVE)],
)
def test_the_whole_interval_decides(limit: float, outcome: Outcome) -> None:
    assert judged(carrying(table(phase())), p50(limit))["verify_ms"].outcome is outcome


def test_without_a_budget_the_value_is_told_and_no_limit_named() -> None:
    verdict = judged(carrying(table(phase())))["verify_ms"]
    assert verdict.outcome is Outcome.PASS
    assert verdict.reference is None
    assert "no budget set" in verdict.headline


def test_a_budget_without_a_source_is_invalid_and_says_what_was_looked_for() -> None:
    verdict = judged(carrying(untold()), p50(6.0))["verify_ms"]
    assert verdict.outcome is Outcome.INVALID
    assert NO_PROBE in verdict.headline
    assert verdict.do


def test_without_a_budget_a_missing_source_is_no_failure_and_no_pass() -> None:
    assert judged(carrying(untold()))["verify_ms"].outcome is Outcome.INCONCLUSIVE


def test_neither_cycle_nor_device_timer_stands_in_for_single_calls() -> None:
    cycle = phase(Phase.STEP, source="cycle", clock="wall", rank=None)
    timer = phase(source="device-timer", starts=(5.33,)).model_copy(update={"starts": ()})
    launch = carrying(table(cycle, timer, unknown={"probe": NO_PROBE}))

    verdict = judged(launch, p50(6.0))["verify_ms"]

    assert verdict.outcome is Outcome.INVALID
    assert any("device-timer: verify 5.330 ms a call, a mean" in line for line in verdict.evidence)


def test_the_slowest_rank_is_judged_and_named() -> None:
    slow = phase(starts=[v * 1.25 for v in (5.3, 5.32, 5.31, 5.33, 5.29, 5.31)], rank=3)
    verdict = judged(carrying(table(phase(), slow)), p50(6.0))["verify_ms"]
    assert verdict.outcome is Outcome.REGRESSED
    assert any("rank 3 is the slowest of 2" in line for line in verdict.evidence)


def test_a_start_without_calls_is_not_passed_over() -> None:
    verdict = judged(carrying(table(phase(starts=(5.3, 5.3, 5.3)))), p50(6.0))["verify_ms"]
    assert verdict.outcome is Outcome.INVALID
    assert "3 of 6 starts" in verdict.headline


def test_too_few_calls_for_a_p95_are_told_and_fail_only_its_own_budget() -> None:
    launch = carrying(table(phase(calls=12)))
    assert set(judged(launch)) == {"verify_ms"}
    assert any("a p95 needs 20" in w for w in judged(launch)["verify_ms"].warnings)
    assert judged(launch, {"metric": "verify_p95_ms", "at_most": 9.0})["verify_p95_ms"].outcome is (
        Outcome.INVALID
    )


def test_fewer_repeats_by_the_rig_are_enough_for_a_value_but_for_no_interval() -> None:
    launch = carrying(table(phase(starts=(5.3, 5.3, 5.3))), starts=3)
    verdict = judged(launch, p50(6.0), instruments={"repeats": 3})["verify_ms"]
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "needs 3 more" in verdict.headline


def test_a_dispute_between_sources_stands_beside_the_number() -> None:
    launch = carrying(table(phase(), agreements=(agreement(0.4, agrees=False),)))
    assert any("+40.0%" in w for w in judged(launch)["verify_ms"].warnings)


def test_lost_records_are_a_warning_on_the_number() -> None:
    lost = phase(warnings=("phases-1.jsonl: the probe lost 3 records (queue full)",))
    assert any("lost 3 records" in w for w in judged(carrying(table(lost)))["verify_ms"].warnings)
