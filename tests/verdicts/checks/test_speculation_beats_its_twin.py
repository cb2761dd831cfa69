from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import (
    ONE_RUN,
    STEADY,
    controls,
    eagle3,
    make_launch,
    make_rig,
    restarted,
    series,
)
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.server import GraphSteps
from tokgate.verdicts.checks.speculation_beats_its_twin import speculation_beats_its_twin

SLOW = (40.0, 40.1, 39.9, 40.0, 40.2, 39.8)


def judged(
    arm: LaunchEvidence | Sequence[LaunchEvidence],
    references: tuple[LaunchEvidence, ...],
    workload: str = "single",
    **rig: Any,
) -> Verdict:
    """Where a test is about one run of the arm, no restart has to confirm what it shows."""
    sampling = ONE_RUN if isinstance(arm, LaunchEvidence) else {}
    changes = {"sampling": sampling, **rig}
    (verdict,) = speculation_beats_its_twin(make_rig(**changes), arm, references, workload)
    return verdict


def confirmed(rates: Sequence[float]) -> tuple[LaunchEvidence, LaunchEvidence]:
    """An arm whose restart measures the same."""
    return eagle3(rates), restarted(eagle3(rates))


def test_an_arm_that_wins() -> None:
    verdict = judged(eagle3(), controls())

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == (
        "decode 59.8 tok/s on eagle3-2step: 1.34x its twin (44.6), interval 1.32–1.36"  # noqa: RUF001
    )
    assert len(verdict.headline) <= 80
    assert verdict.change == pytest.approx(0.341, abs=0.001)
    assert verdict.reference is not None
    assert verdict.reference.label == "baseline arm of this session (01-baseline, 04-baseline-again)"
    assert verdict.reference.n == 12
    assert verdict.do is None


def test_an_arm_that_loses_says_how_much_too_long_its_cycle_is() -> None:
    verdict = judged(eagle3(SLOW), controls())

    assert verdict.outcome is Outcome.REGRESSED
    assert "0.90x its twin" in verdict.headline
    assert "below 1x" in verdict.headline
    (line,) = (e for e in verdict.evidence if e.startswith("break-even"))
    assert "ms too long" in line
    assert verdict.do == (
        "accept length 1.86, cycle 46.2 ms: 4.8 ms over break-even (41.4 ms) at that accept length; "
        "so long a cycle would need accept length 2.07. Which phase of the cycle it is: 'Phases of a cycle' and "
        "'Since the stored baseline' in the report, or run pytest perf_tests -m verify"
    )


def test_an_arm_that_wins_by_less_than_asked_is_told_which_cycle_or_accept_length_would_do() -> None:
    """1.34x of an asked 1.5x: "no stream decodes slower than without speculation" would not explain it."""
    verdict = judged(eagle3(), controls(), twins=[{"at_least": 1.5}])

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.do is not None
    assert verdict.do.startswith(
        "asked 1.50x, reached 1.34x: accept length 1.86, cycle 30.9 ms; it takes a cycle of 27.6 ms at that accept "
        "length, or with this cycle an accept length of 2.08 (break-even: 41.4 ms). "
    )
    (line,) = (e for e in verdict.evidence if "a cycle may take" in e)
    assert line.startswith("for 1.50x: a cycle may take 27.62 ms")
    assert "3.28 ms too long" in line


@pytest.mark.parametrize(
    ("arm", "at_least", "words"),
    [
        (eagle3(), 1.2, "gain between +31."),
        (eagle3(SLOW), 0.5, "loss between -1"),
    ],
    ids=["wins", "keeps a limit below 1"],
)
def test_bounds_are_of_the_speed_up_and_say_over_what(
    arm: LaunchEvidence, at_least: float, words: str
) -> None:
    verdict = judged(arm, controls(), twins=[{"at_least": at_least}])
    (line,) = (e for e in verdict.evidence if "over its twin" in e)
    assert line.startswith(words)
    assert f"; a shortfall below the limit {at_least:g}x would have been called from " in line
    assert "the loss is at most -" not in " ".join(verdict.evidence)


def test_an_arm_that_loses_outside_graphs_is_told_to_look_there() -> None:
    arm = eagle3(SLOW).model_copy(update={"graph": GraphSteps(on=0, off=22, word="cuda graph")})
    twins = tuple(
        c.model_copy(update={"graph": GraphSteps(on=20, off=0, word="cuda graph")}) for c in controls()
    )
    verdict = judged(arm, twins)

    assert (
        "decode steps in a CUDA graph: 0 % here, 100 % in the control (22 and 40 decode lines)"
        in verdict.evidence
    )
    assert verdict.do is not None
    assert "It decodes outside CUDA graphs, its control inside" in verdict.do


def test_headroom_is_told_beside_a_win() -> None:
    """1.855 tokens a call x 22.4 ms a plain token = 41.4 ms; the cycle takes 30.9."""
    (line,) = (e for e in judged(eagle3(), controls()).evidence if e.startswith("break-even"))

    assert "a cycle may take 41.43 ms" in line
    assert "10.53 ms of headroom" in line


@pytest.mark.parametrize(
    ("at_least", "outcome"),
    [(1.2, Outcome.PASS), (1.34, Outcome.INCONCLUSIVE), (1.5, Outcome.REGRESSED)],
)
def test_the_rig_says_by_how_much_to_win(at_least: float, outcome: Outcome) -> None:
    assert judged(eagle3(), controls(), twins=[{"at_least": at_least}]).outcome is outcome


def test_the_most_particular_limit_counts() -> None:
    limits = [
        {"arm": "eagle3-2step", "workload": "single", "at_least": 1.2},
        {"arm": "eagle3-2step", "at_least": 9.0},
        {"workload": "single", "at_least": 9.0},
        {"at_least": 9.0},
    ]

    assert judged(eagle3(), controls(), twins=limits).outcome is Outcome.PASS


def test_without_a_limit_the_speed_up_is_told_and_nothing_demanded() -> None:
    verdict = judged(eagle3(SLOW), controls(), twins=[{"workload": "pair", "at_least": 1.0}])

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline.endswith("no limit set")


@pytest.mark.parametrize("arm", [1.1, 1.5, 0.8])
def test_a_drift_that_no_restart_explains_forbids_judging(arm: float) -> None:
    """Whatever the arm shows beside them: a win, a loss, or nothing."""
    twins = controls(STEADY, tuple(v * 1.2 for v in STEADY))
    verdict = judged(confirmed(tuple(v * arm for v in STEADY)), twins)

    assert verdict.outcome is Outcome.INVALID
    assert "drifted by +20.0%" in verdict.headline
    assert verdict.do is not None


def test_a_small_drift_widens_the_interval_and_is_told() -> None:
    """What 1.5 % between the controls leave open is open; a win of 34 % holds against either."""
    lower, higher = (tuple(v * k for v in STEADY) for k in (0.9925, 1.0075))
    still, moving = controls(), controls(lower, higher)
    verdict = judged(eagle3(), moving)

    assert verdict.outcome is Outcome.PASS
    assert "drift between the controls 1.5%" in verdict.evidence
    assert width(verdict) > width(judged(eagle3(), still))
    close = tuple(v * 1.02 for v in STEADY)
    assert judged(eagle3(close), still).outcome is Outcome.PASS
    assert judged(eagle3(close), moving).outcome is Outcome.INCONCLUSIVE


def test_a_small_win_beside_controls_that_differ_by_more_names_their_drift() -> None:
    verdict = judged(
        eagle3(tuple(v * 1.01 for v in STEADY)), controls(STEADY, tuple(v * 1.015 for v in STEADY))
    )

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the controls drift by 1.5%" in verdict.headline


def width(verdict: Verdict) -> float:
    assert verdict.interval is not None
    return verdict.interval[1] - verdict.interval[0]


def test_a_loss_of_a_single_run_wants_a_restart_of_the_arm() -> None:
    verdict = judged((eagle3(SLOW),), controls())

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "0.90x its twin" in verdict.headline
    assert "below 1x, not confirmed by restarts; needs 1 more restart of eagle3-2step" in verdict.headline
    assert verdict.wanted == {"eagle3-2step": 1}


def test_a_loss_that_a_restart_confirms_is_regressed() -> None:
    verdict = judged(confirmed(SLOW), controls())

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.launches == ("02-eagle3-2step", "07-eagle3-2step-restart-1")
    assert verdict.needs is None
    assert not any("not confirmed" in w for w in verdict.warnings)


def test_one_slow_restart_of_two_is_no_regression() -> None:
    """Both together are 3 % slower than the twin, one of them is 3 % faster."""
    fast, slow = (tuple(v * k for v in STEADY) for k in (1.03, 0.91))
    verdict = judged((eagle3(fast), restarted(eagle3(slow))), controls())

    assert verdict.outcome in (Outcome.INCONCLUSIVE, Outcome.INVALID)


def test_a_win_too_small_to_be_sure_of_says_what_would_settle_it() -> None:
    verdict = judged((eagle3(tuple(v * 1.012 for v in STEADY)),), controls())

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.needs is not None
    assert "restart" in verdict.needs
    assert set(verdict.wanted) <= {"eagle3-2step", "baseline"}
    assert verdict.wanted


def test_it_tells_what_it_would_have_called_and_what_of_the_sessions_chance_it_may_spend() -> None:
    verdict = judged(eagle3(), controls())
    fewer = judged(eagle3(), controls(), arms=[a.model_dump() for a in make_rig().arms[:2]])

    assert 0 < (verdict.smallest or 0) < 0.1
    assert fewer.level == pytest.approx(2 * (verdict.level or 0))


def test_one_control_is_enough_but_brackets_nothing() -> None:
    verdict = judged(eagle3(), controls()[:1])

    assert verdict.outcome is Outcome.PASS
    assert "one control only: drift of the machine is not bracketed" in verdict.warnings


def test_a_run_of_few_starts_still_is_one_run() -> None:
    """What decides is how far server runs differ: three steady starts tell a run's value as well as six."""
    workload = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 3}
    twins = controls(STEADY[:3], STEADY[:3])
    verdict = judged(eagle3((59.8, 59.9, 60.0)), twins, workloads=[workload])

    assert verdict.outcome is Outcome.PASS
    assert verdict.n == 3


def test_many_streams_are_judged_by_their_sum() -> None:
    twins = controls((30.0, 30.1, 30.2, 30.3), (30.0, 30.1, 30.2, 30.3), workload="pair", concurrency=2)
    arm = eagle3((40.0, 40.1, 40.2, 40.3), workload="pair", concurrency=2)
    verdict = judged(arm, twins, "pair")

    assert verdict.metric == "total_tok_s"
    assert verdict.outcome is Outcome.PASS


def test_another_arm_is_no_control() -> None:
    verdict = judged(eagle3(), (eagle3(arm="eagle3-pinned"),))

    assert verdict.outcome is Outcome.INVALID
    assert "02-eagle3-pinned is no control" in verdict.headline


def test_the_control_is_not_its_own_twin() -> None:
    verdict = judged(controls()[0], controls())

    assert verdict.outcome is Outcome.INVALID


def test_a_control_that_failed_is_named_under_the_arms_own_name() -> None:
    broken = make_launch(series()[:2])
    verdict = judged(eagle3(), (broken,))

    assert verdict.outcome is Outcome.INVALID
    assert verdict.arm == "eagle3-2step"
    assert verdict.headline.startswith("no twin for eagle3-2step")
    assert "01-baseline" in verdict.headline


def test_an_arm_that_accepts_nothing_is_called_on_and_useless() -> None:
    verdict = judged(eagle3((23.0,) * 6, verify_ct=256), controls())

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.endswith("below 1x: speculation is on and useless (accept length 1.00)")
    assert verdict.do is not None
    assert "check that the draft belongs to this target" in verdict.do.lower()


def test_a_server_that_does_not_speculate_is_not_compared_with_itself() -> None:
    name = "02-eagle3-2step"
    plain = make_launch(series(launch=name), id=name, arm="eagle3-2step", role="arm")
    verdict = judged(plain, controls())

    assert verdict.outcome is Outcome.INVALID
    assert "speculation is off: not one of 6 answers counts a verify call" in verdict.headline
