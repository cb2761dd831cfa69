"""Limits that are a margin to break-even: the arithmetic, what decides, and what it was derived from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import (
    ONE_RUN,
    STEADY,
    controls,
    eagle3,
    make_generation,
    make_rig,
    restarted,
    series,
)
from tests.verdicts.phase_evidence import NAME, carrying, phase, table
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase
from tokgate.verdicts.break_even import break_even
from tokgate.verdicts.budgets import asks_for_twins
from tokgate.verdicts.checks.acceptance_length import acceptance_length
from tokgate.verdicts.checks.cycle_time import cycle_time
from tokgate.verdicts.checks.verify_latency import verify_latency

# 1.855 tokens a call, 30.9 ms a cycle, against 22.42 ms a plain token: it wins by 34 %.
CYCLE = 255 / 59.8 / 138 * 1e3
COST = break_even(accept_length=256 / 138, tokens=256, decode_ms=1e3 / 44.6, cycle_ms=CYCLE)
VERIFY = (27.0, 27.1, 26.9, 27.0, 27.05, 26.95)
JUDGE = {"cycle_ms": cycle_time, "accept_length": acceptance_length, "verify_ms": verify_latency}


def rig(metric: str, margin: float, **changes: Any) -> Any:
    budget = {"metric": metric, "arm": "eagle3-2step", "break_even_margin": margin}
    return make_rig(**{"budgets": [budget], "sampling": ONE_RUN, **changes})


def judged(
    metric: str,
    margin: float = 0.05,
    *,
    arm: LaunchEvidence | Sequence[LaunchEvidence] | None = None,
    twins: tuple[LaunchEvidence, ...] | None = None,
    **changes: Any,
) -> Verdict:
    """Where a test is about one run of the arm, no restart has to confirm what it shows."""
    launch = arm or one_run(metric)
    found = JUDGE.get(metric, verify_latency)(
        rig(metric, margin, **changes), launch, "single", controls() if twins is None else twins
    )
    (verdict,) = (v for v in found if v.metric == metric)
    return verdict


def one_run(metric: str) -> LaunchEvidence:
    return carrying(table(phase(starts=VERIFY))) if metric.startswith("verify") else eagle3()


def ratio(verdict: Verdict) -> float:
    """Of value to limit, as the evidence tells it."""
    (line,) = (e for e in verdict.evidence if e.startswith("value / limit: "))
    return float(line.split()[3])


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("cycle_ms", COST.limit_ms / 1.05),
        ("accept_length", (COST.least_accept_length or 0) * 1.05),
        ("verify_ms", COST.limit_ms / 1.05 - (CYCLE - 27.0)),
    ],
)
def test_the_limit_is_break_even_less_the_margin(metric: str, limit: float) -> None:
    verdict = judged(metric)

    assert verdict.outcome is Outcome.PASS
    assert verdict.reference is not None
    assert verdict.reference.kind == "budget"
    label = f"break-even {'x' if metric == 'accept_length' else '/'} 1.05"
    assert verdict.reference.label == label
    assert verdict.reference.value == pytest.approx(limit, rel=2e-3)
    assert ratio(verdict) == pytest.approx((verdict.value or 0) / limit, abs=4e-3)
    assert f"keeps {label}" in verdict.headline


@pytest.mark.parametrize("metric", JUDGE)
def test_a_limit_is_nothing_the_value_has_changed_from(metric: str) -> None:
    """As of a fixed budget: no change, and the interval is the value's own."""
    verdict = judged(metric)

    assert verdict.change is None
    assert verdict.interval is not None
    assert verdict.interval[0] <= (verdict.value or 0) <= verdict.interval[1]


@pytest.mark.parametrize("metric", JUDGE)
@pytest.mark.parametrize(
    ("margin", "outcome"), [(0.0, Outcome.PASS), (0.34, Outcome.INCONCLUSIVE), (0.5, Outcome.REGRESSED)]
)
def test_the_whole_interval_of_value_over_limit_decides(metric: str, margin: float, outcome: Outcome) -> None:
    """It wins by 34.1 %, and server runs of either side differ by half a per cent."""
    verdict = judged(metric, margin)

    assert verdict.outcome is outcome
    assert (verdict.do is None) is (outcome is Outcome.PASS)


@pytest.mark.parametrize("metric", JUDGE)
def test_a_limit_missed_by_a_single_run_wants_another_of_the_kind_that_measured_it(metric: str) -> None:
    alone, again = (one_run(metric),), (one_run(metric), restarted(one_run(metric)))
    verdict = judged(metric, 0.5, arm=alone, sampling={})

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "misses (not confirmed by restarts)" in verdict.headline
    carrying = metric.startswith("verify")
    assert verdict.wanted == {"eagle3-2step+phases" if carrying else "eagle3-2step": 1}
    assert verdict.needs == f"1 more restart of eagle3-2step{' with instruments' if carrying else ''}"
    assert verdict.headline.endswith(f"; needs {verdict.needs}")
    confirmed = judged(metric, 0.5, arm=again, sampling={})
    assert confirmed.outcome is Outcome.REGRESSED
    assert confirmed.launches == tuple(launch.launch.id for launch in again)


@pytest.mark.parametrize("metric", ["cycle_ms", "accept_length"])
def test_one_slow_restart_of_two_misses_nothing(metric: str) -> None:
    """It wins by 34 %, or by 20 %; 29 % is asked for, which both together miss by little and one not at all."""
    slow = restarted(eagle3(tuple(v * 0.9 for v in (59.8, 59.6, 60.0, 59.7, 59.9, 59.8))))
    verdict = judged(metric, 0.29, arm=(eagle3(), slow), sampling={})

    assert verdict.outcome in (Outcome.INCONCLUSIVE, Outcome.INVALID)


def test_the_limit_is_uncertain_too() -> None:
    """The cycle itself does not spread at all; controls that do leave open whether it keeps the margin."""
    steady, wide = eagle3((59.8,) * 6), (42.0, 46.5, 43.0, 46.0, 44.0, 45.0)

    assert judged("cycle_ms", 0.3, arm=steady).outcome is Outcome.PASS
    unlike = controls(wide, wide[::-1])
    assert judged("cycle_ms", 0.3, arm=steady, twins=unlike).outcome is Outcome.INCONCLUSIVE


def of_prompts(launch: LaunchEvidence) -> LaunchEvidence:
    """The same cycle, and an acceptance that goes by the prompt: 4 % from start to start, of which nothing is noise."""
    calls = (138, 132, 144, 135, 141, 138)
    generations = tuple(
        make_generation(index=n, launch=launch.launch.id, tok_s=59.8 * 138 / count, verify_ct=count)
        for n, count in enumerate(calls)
    )
    return launch.model_copy(update={"generations": generations})


def test_what_prompts_differ_by_is_known_from_the_runs_of_the_session_that_carried_no_instruments() -> None:
    """Without them one launch with instruments cannot tell it from noise, and another is asked for."""
    carried, timed = of_prompts(one_run("verify_ms")), of_prompts(eagle3())
    alone, beside = (
        next(
            v
            for v in verify_latency(
                rig("verify_ms", 0.29, sampling={}), carried, "single", controls(), timed=runs
            )
            if v.metric == "verify_ms"
        )
        for runs in ((), (timed,))
    )

    assert (alone.outcome, alone.wanted) == (Outcome.INCONCLUSIVE, {"eagle3-2step+phases": 1})
    assert (beside.outcome, beside.wanted) == (Outcome.PASS, {})
    assert ratio(beside) == ratio(alone)


def test_all_of_the_derivation_stands_in_the_evidence() -> None:
    lines = "\n".join(judged("verify_ms").evidence)

    assert "break-even / 1.05: accept length 1.855 replaces 1.848 plain tokens of 22.42 ms: 41.43 ms" in lines
    assert "/ 1.05 = 39.46 ms; less 3.90 ms that are not verify: 35.56 ms for a verify" in lines
    assert f"of {NAME}: accept length 1.855 (1.855–1.855), cycle 30.90 (30.90–30.90) ms, 256 tokens" in lines  # noqa: RUF001
    assert "of the same launch, which carries the instruments: verify 27.00 (26.90–27.10) ms" in lines  # noqa: RUF001
    assert "a plain token of 01-baseline: 22.42 (22.32–22.52) ms, n=6" in lines  # noqa: RUF001
    assert "a plain token of 04-baseline-again: 22.42" in lines
    assert "drift between the controls 0.0%" in lines
    assert "the value itself: 27.000 ms (26.6" in lines
    assert "server run" not in lines
    assert "restarts of the twin: 1 seen beyond the first, so a prior of 0.50%" in lines


def test_a_cycle_that_is_over_says_by_how_much_and_what_it_would_need() -> None:
    verdict = judged("cycle_ms", arm=eagle3((40.0, 40.1, 39.9, 40.0, 40.2, 39.8)))

    assert verdict.outcome is Outcome.REGRESSED
    assert "misses break-even / 1.05 (39.46 at accept length 1.86): 1.171 of the limit" in verdict.headline
    assert verdict.do is not None
    assert verdict.do.startswith("accept length 1.86, cycle 46.2 ms: 4.8 ms over break-even")


def test_a_win_that_is_too_small_is_no_loss() -> None:
    verdict = judged("cycle_ms", 0.5)

    assert verdict.do is not None
    assert verdict.do.startswith("it wins by 34.1%, and 50.0% is asked for")


def test_no_room_at_all() -> None:
    """The rest of the cycle alone is longer than the tokens that it replaces."""
    slow = series((20.0,) * 6, launch=NAME, verify_ct=138)
    arm = carrying(table(phase(starts=VERIFY))).model_copy(update={"generations": slow})
    verdict = judged("verify_ms", arm=arm)

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.endswith("no room at all, even a verify of 0 ms would lose")
    assert verdict.reference is not None
    assert verdict.reference.value is None
    assert verdict.change is None


DRAFT, EXTEND = phase(Phase.DRAFT, (6.0,) * 6), phase(Phase.DRAFT_EXTEND, (9.5,) * 6)


def slow_drafter(*fixed: float) -> tuple[Verdict, ...]:
    """Verify takes 14 ms as ever; 16.9 ms of the cycle are not verify. A win by a half leaves verify 10.7."""
    budgets = [{"metric": "verify_ms", "break_even_margin": 0.5}]
    budgets += [{"metric": "verify_ms", "at_most": limit} for limit in fixed]
    arm = carrying(table(phase(starts=(14.0,) * 6), DRAFT, EXTEND))
    return verify_latency(make_rig(budgets=budgets, sampling=ONE_RUN), arm, "single", controls())


def test_a_verify_that_the_rest_leaves_no_room_says_what_took_it() -> None:
    fixed, derived, _tail = slow_drafter(15.0)

    assert fixed.outcome is Outcome.PASS
    assert derived.outcome is Outcome.REGRESSED
    assert "misses break-even / 1.5 (10.7" in derived.headline
    assert (
        "though within its own limit 15: the rest of the cycle takes 16.9 ms (draft 6.0, draft_extend 9.5)"
        in (derived.headline)
    )
    assert "Verify keeps its own limit, so look at the rest of the cycle first" in (derived.do or "")
    assert "the longest of the rest is draft_extend (9.5 ms)" in (derived.do or "")


def test_without_a_fixed_limit_that_is_kept_nobody_knows_whether_verify_has_grown() -> None:
    (alone, *_) = slow_drafter()
    _fixed, broken, _tail = slow_drafter(13.0)

    for verdict in (alone, broken):
        assert verdict.outcome is Outcome.REGRESSED
        assert "its own limit" not in f"{verdict.headline} {verdict.do}"
        assert "which has grown: verify (14.0 ms) or the rest; the longest of the rest is draft_extend" in (
            verdict.do or ""
        )


def test_a_verify_longer_than_a_whole_cycle_may_be_is_not_blamed_on_the_rest() -> None:
    arm = carrying(table(phase(starts=(29.0,) * 6), phase(Phase.DRAFT, (0.9,) * 6)))
    verdict = judged("verify_ms", 0.5, arm=arm)

    assert "by itself it is longer than a whole cycle may be (27.6 ms)" in verdict.headline
    assert "Look at verify and at acceptance" in (verdict.do or "")


def test_the_tail_has_the_same_limit_as_the_middle() -> None:
    middle = judged("verify_ms")
    tail = judged("verify_p95_ms", arm=carrying(table(phase(starts=VERIFY, tail=1.7))))

    assert middle.reference is not None
    assert tail.reference is not None
    assert tail.reference.value == middle.reference.value
    assert tail.outcome is Outcome.REGRESSED
    assert middle.outcome is Outcome.PASS


def test_a_control_that_is_missing_or_cannot_be_judged_is_no_limit() -> None:
    missing = judged("cycle_ms", twins=())
    broken = controls()[0].model_copy(update={"faults": ("the lease was lost",)})
    unjudged = judged("verify_ms", twins=(broken,))

    assert missing.outcome is unjudged.outcome is Outcome.INVALID
    assert "no control of this session was measured" in missing.headline
    assert unjudged.headline.startswith("no break-even for eagle3-2step: ")
    assert "the lease was lost" in unjudged.headline


def test_one_control_is_enough_but_brackets_nothing() -> None:
    verdict = judged("cycle_ms", twins=controls()[:1])

    assert verdict.outcome is Outcome.PASS
    assert "one control only: drift of the machine is not bracketed" in verdict.warnings


@pytest.mark.parametrize("metric", JUDGE)
@pytest.mark.parametrize("margin", [0.0, 0.2, 1.0])
def test_controls_that_drift_beyond_what_restarts_explain_are_no_limit(metric: str, margin: float) -> None:
    twins = controls(STEADY, tuple(v * 1.2 for v in STEADY))
    verdict = judged(metric, margin, twins=twins)

    assert verdict.outcome is Outcome.INVALID
    assert "drifted by +20.0%" in verdict.headline


def test_controls_that_drift_by_more_than_the_margin_left_decide_nothing() -> None:
    twins = controls(STEADY, tuple(v * 1.015 for v in STEADY))
    verdict = judged("cycle_ms", 0.33, twins=twins)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the controls drift by 1.5%" in verdict.headline


def test_a_verify_longer_than_its_cycle_is_disbelieved() -> None:
    verdict = judged("verify_ms", arm=carrying(table(phase(starts=(40.0,) * 6))))

    assert verdict.outcome is Outcome.INVALID
    assert "the whole cycle 30.900 ms: one of the two is wrong" in verdict.headline


def test_on_a_hosts_clock_a_pause_of_one_rank_is_no_part_of_the_cycle() -> None:
    """The mean of one start holds a call of seconds; the middle of it and the cycle do not."""
    told = phase(starts=VERIFY, clock="host")
    paused = (told.starts[0].model_copy(update={"mean_ms": 60.0}), *told.starts[1:])
    verdict = judged("verify_ms", arm=carrying(table(told.model_copy(update={"starts": paused}))))

    assert verdict.outcome is Outcome.PASS
    assert any("verify 27.00 (26.90–27.10) ms (p50 by the probe, host clock)" in e for e in verdict.evidence)  # noqa: RUF001


def test_the_repeats_that_the_instruments_are_allowed_are_enough() -> None:
    arm = carrying(table(phase(starts=VERIFY[:3])), starts=3)
    few = rig("verify_ms", 0.05, instruments={"repeats": 3})
    (verdict, *_) = verify_latency(few, arm, "single", controls())

    assert verdict.outcome is Outcome.PASS
    assert verdict.n == 3


def test_fixed_and_derived_limits_stand_side_by_side() -> None:
    both = make_rig(
        budgets=[
            {"metric": "cycle_ms", "at_most": 20.8},
            {"metric": "cycle_ms", "break_even_margin": 0.05},
        ],
        sampling=ONE_RUN,
    )
    fixed, derived = cycle_time(both, eagle3(), "single", controls())

    assert fixed.outcome is Outcome.REGRESSED
    assert derived.outcome is Outcome.PASS


def test_only_a_derived_budget_of_this_arm_and_workload_asks_for_the_controls() -> None:
    plain = make_rig(budgets=[{"metric": "cycle_ms", "at_most": 20.8}])

    assert not asks_for_twins(plain, eagle3(), "single", "cycle_ms")
    assert asks_for_twins(rig("cycle_ms", 0.05), eagle3(), "single", "cycle_ms")
    assert not asks_for_twins(rig("cycle_ms", 0.05), eagle3(), "single", "verify_ms")
    assert not asks_for_twins(rig("cycle_ms", 0.05), eagle3(arm="eagle3-pinned"), "single", "cycle_ms")


def test_many_streams_are_compared_stream_by_stream() -> None:
    twins = controls((30.0, 30.1, 30.2, 30.3), (30.0, 30.1, 30.2, 30.3), workload="pair", concurrency=2)
    arm = eagle3((40.0, 40.1, 40.2, 40.3), workload="pair", concurrency=2)
    (verdict,) = cycle_time(rig("cycle_ms", 0.05), arm, "pair", twins)

    assert verdict.outcome is Outcome.PASS
    assert ratio(verdict) == pytest.approx(30.15 / 40.15 * 1.05, abs=0.005)
