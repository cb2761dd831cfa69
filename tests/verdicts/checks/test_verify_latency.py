from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import ONE_RUN, make_rig, restarted, series
from tests.verdicts.phase_evidence import NAME, NO_PROBE, VERIFY, agreement, carrying, phase, table, untold
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase, PhaseReading, TraceFacts
from tokgate.verdicts.checks.verify_latency import verify_latency
from tokgate.verdicts.verify_calls import verify_calls


def judged(
    launch: LaunchEvidence | Sequence[LaunchEvidence], *limits: dict[str, Any], **rig: Any
) -> dict[str | None, Verdict]:
    """Where a test is about one launch, no second one has to confirm what it shows."""
    sampling = ONE_RUN if isinstance(launch, LaunchEvidence) else {}
    changes = {"sampling": sampling, **rig}
    found = verify_latency(make_rig(budgets=limits, **changes), launch, "single")
    return {v.metric: v for v in found}


def p50(limit: float) -> dict[str, Any]:
    return {"metric": "verify_ms", "at_most": limit}


def test_p50_and_p95_have_budgets_of_their_own() -> None:
    launch = carrying(table(phase(tail=1.5)))

    found = judged(launch, p50(6.0), {"metric": "verify_p95_ms", "at_most": 6.0})

    assert found["verify_ms"].outcome is Outcome.PASS
    assert found["verify_ms"].value == pytest.approx(5.31)
    low, high = found["verify_ms"].interval or (0, 0)
    assert 5.2 < low < min(VERIFY) < max(VERIFY) < high < 5.42
    assert found["verify_p95_ms"].outcome is Outcome.REGRESSED


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [(5.5, Outcome.PASS), (4.8, Outcome.REGRESSED), (5.31, Outcome.INCONCLUSIVE)],
)
def test_what_launches_differ_by_decides(limit: float, outcome: Outcome) -> None:
    assert judged(carrying(table(phase())), p50(limit))["verify_ms"].outcome is outcome


@pytest.mark.parametrize(("share", "said"), [(0.0, True), (1.0, False), (None, False)])
def test_a_verify_outside_a_graph_is_the_first_thing_to_say_of_one_that_is_too_long(
    share: float | None, said: bool
) -> None:
    verdict = judged(carrying(table(phase(graph_share=share))), p50(4.8))["verify_ms"]
    assert verdict.outcome is Outcome.REGRESSED
    assert ("100% of its calls ran outside a CUDA graph" in verdict.headline) is said
    assert ((verdict.do or "").startswith("bring verify into a CUDA graph first")) is said


def test_a_verify_that_keeps_its_limit_outside_a_graph_is_no_cause_of_anything() -> None:
    verdict = judged(carrying(table(phase(graph_share=0.0))), p50(5.5))["verify_ms"]
    assert "CUDA graph" not in verdict.headline


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
    assert any("rank 3, whose verify is the longest of 2 ranks" in line for line in verdict.evidence)
    assert "slow by itself" not in verdict.headline


def test_the_rank_that_is_slow_by_itself_leads_whatever_rank_has_the_longest_verify() -> None:
    ranks = [
        phase(p, (ms * (1.25 if rank == 2 else 1.0),) * 6, rank=rank)
        for rank in range(4)
        for p, ms in ((Phase.DRAFT, 0.25), (Phase.DRAFT_EXTEND, 0.29))
    ]
    verifies = [phase(starts=(6.6 - 0.1 * rank,) * 6, rank=rank) for rank in range(4)]
    launch = carrying(table(*ranks, *verifies))
    verdict = judged(launch, p50(6.0))["verify_ms"]

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.endswith("rank 2 is slow by itself, the others wait for it")
    assert (verdict.do or "").startswith("look at the GPU of rank 2 first")
    assert any(
        "judged: rank 0" in line and "the longest is not the slow one" in line for line in verdict.evidence
    )
    assert "rank 2" not in judged(launch, p50(7.0))["verify_ms"].headline


def test_where_the_draft_model_is_sharded_the_traces_tell_which_rank_the_others_wait_for() -> None:
    """Draft, verify and extend are of one length in all ranks; the kernels that wait for nobody are not."""
    ranks = [
        phase(p, (ms,) * 6, rank=rank)
        for rank in range(4)
        for p, ms in ((Phase.DRAFT, 0.25), (Phase.DRAFT_EXTEND, 0.29), (Phase.VERIFY, 6.6))
    ]
    traces = tuple(
        TraceFacts(
            rank=rank,
            file=f"TP-{rank}.trace.json.gz",
            steps=20,
            span_ms=143.0,
            kernel_ms=140.0,
            busy_ms=140.0,
            idle_share=0.02,
            nccl_share=0.02 if rank == 3 else 0.2,
        )
        for rank in range(4)
    )
    verdict = judged(carrying(table(*ranks, traces=traces)), p50(6.0))["verify_ms"]

    assert verdict.headline.endswith("rank 3 is slow by itself, the others wait for it")
    assert "look at the GPU of rank 3 first" in (verdict.do or "")


def test_calls_that_the_answers_count_and_the_probe_did_not_see_are_a_warning() -> None:
    """138 calls in each of six starts by spec_verify_ct; one a start may begin at its edge."""
    ranks = [phase(calls=calls, rank=rank) for rank, calls in enumerate((138, 130))]
    (warning,) = judged(carrying(table(*ranks)))["verify_ms"].warnings

    assert "the probe saw 780 to 828 verify calls of a rank (2 ranks), the answers count 828" in warning
    assert "5.8% are missing" in warning
    for calls in (137, 138, 139):
        assert judged(carrying(table(phase(calls=calls))))["verify_ms"].warnings == ()


TAIL = {"metric": "verify_p95_ms", "at_most": 6.0}


def test_a_p95_is_judged_in_the_rank_with_the_longest_tail() -> None:
    """Rank 0 is the longest in the middle; rank 3 is quicker there, and its slowest calls are the slowest of all."""
    uneven = phase(starts=[v * 0.99 for v in VERIFY], tail=1.5, rank=3)
    found = judged(carrying(table(phase(), uneven)), p50(6.0), TAIL)
    assert found["verify_ms"].outcome is Outcome.PASS
    assert found["verify_ms"].value == pytest.approx(5.31)
    tail = found["verify_p95_ms"]
    assert tail.outcome is Outcome.REGRESSED
    assert tail.value == pytest.approx(5.31 * 0.99 * 1.5)
    assert any("rank 3 has the longest tail of 2, p95 from 5.841 to 7.885 ms" in e for e in tail.evidence)


@pytest.mark.parametrize(
    ("silent", "why"),
    [
        (phase(starts=VERIFY, calls=12, rank=3), "a start has 12 verify calls"),
        (
            phase(starts=[v * 0.99 for v in VERIFY[:4]], tail=1.5, rank=3),
            "rank 3 tells of verify in 4 of 6 starts",
        ),
    ],
)
def test_a_rank_that_does_not_tell_its_tail_may_have_the_longest(silent: PhaseReading, why: str) -> None:
    verdict = judged(carrying(table(phase(), silent)), TAIL)["verify_p95_ms"]
    assert verdict.outcome is Outcome.INVALID
    assert why in verdict.headline


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


def test_fewer_repeats_by_the_rig_are_enough() -> None:
    launch = carrying(table(phase(starts=(5.3, 5.3, 5.3))), starts=3)
    verdict = judged(launch, p50(6.0), instruments={"repeats": 3})["verify_ms"]
    assert verdict.outcome is Outcome.PASS
    assert verdict.n == 3


def longer(by: float) -> LaunchEvidence:
    return carrying(table(phase(starts=[v * by for v in VERIFY])))


@pytest.mark.parametrize("metric", ["verify_ms", "verify_p95_ms"])
def test_a_verify_too_long_in_one_launch_wants_another_with_instruments(metric: str) -> None:
    """A timed restart would not tell: there are no instruments in it."""
    limit = {"metric": metric, "at_most": 4.0}
    alone = judged((longer(1.0),), limit)[metric]
    both = judged((longer(1.0), restarted(longer(1.0))), limit)[metric]

    assert alone.outcome is Outcome.INCONCLUSIVE
    assert alone.needs == "1 more restart of eagle3-2step with instruments"
    assert alone.wanted == {"eagle3-2step+phases": 1}
    assert both.outcome is Outcome.REGRESSED
    assert both.launches == (NAME, "07-eagle3-2step-restart-1")
    assert both.wanted == {}


def test_one_slow_launch_of_two_is_no_regression() -> None:
    verdict = judged((longer(1.2), restarted(longer(1.0))), p50(5.5))["verify_ms"]

    assert verdict.outcome in (Outcome.INCONCLUSIVE, Outcome.INVALID)


def test_a_second_launch_that_tells_nothing_is_not_left_out() -> None:
    verdict = judged((longer(1.0), restarted(carrying(untold()))), p50(6.0))["verify_ms"]

    assert verdict.outcome is Outcome.INVALID
    assert NO_PROBE in verdict.headline


def test_a_dispute_between_sources_stands_beside_the_number() -> None:
    launch = carrying(table(phase(), agreements=(agreement(0.4, agrees=False),)))
    assert any("+40.0%" in w for w in judged(launch)["verify_ms"].warnings)


def test_lost_records_are_a_warning_on_the_number() -> None:
    lost = phase(warnings=("phases-1.jsonl: the probe lost 3 records (queue full)",))
    assert any("lost 3 records" in w for w in judged(carrying(table(lost)))["verify_ms"].warnings)


def test_of_data_parallel_groups_nobody_knows_which_had_which_calls() -> None:
    launch = carrying(table(phase(calls=70), phase(calls=68, rank=1)))
    assert launch.server is not None
    info = {**launch.server.server_info, "dp_size": 2}
    shared = launch.model_copy(update={"server": launch.server.model_copy(update={"server_info": info})})
    assert verify_calls(launch, "single", launch.phases.readings if launch.phases else ()).missed is not None
    assert verify_calls(shared, "single", launch.phases.readings if launch.phases else ()).missed is None


def test_of_many_streams_a_pass_serves_several_and_the_longest_answer_counts() -> None:
    """Two streams of 138 calls each in a start: 138 passes at least, not 276."""
    generations = series((59.8,) * 6, launch=NAME, verify_ct=138, workload="pair", concurrency=2)
    probe = phase(workload="pair", concurrency=2, starts=(5.3,) * len({g.batch for g in generations}))
    launch = carrying(table(probe)).model_copy(update={"generations": generations})
    found = verify_calls(launch, "pair", (probe,))
    assert found.counted == sum(found.seen)
    assert found.missed is None
