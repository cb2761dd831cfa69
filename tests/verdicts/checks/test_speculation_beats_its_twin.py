from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import STEADY, controls, eagle3, make_launch, make_rig, series
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.server import GraphSteps
from tokgate.verdicts.checks.speculation_beats_its_twin import speculation_beats_its_twin

SLOW = (40.0, 40.1, 39.9, 40.0, 40.2, 39.8)


def judged(
    arm: LaunchEvidence,
    references: tuple[LaunchEvidence, ...],
    workload: str = "single",
    **rig: Any,
) -> Verdict:
    (verdict,) = speculation_beats_its_twin(make_rig(**rig), arm, references, workload)
    return verdict


def test_an_arm_that_wins() -> None:
    verdict = judged(eagle3(), controls())

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == (
        "decode 59.8 tok/s on eagle3-2step: 1.34x its twin (44.6), interval 1.34–1.35"  # noqa: RUF001
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
        "'Since the stored baseline' in the report, or -m verify"
    )


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


def test_drift_larger_than_the_effect_decides_nothing() -> None:
    twins = controls(STEADY, tuple(v * 1.2 for v in STEADY))
    verdict = judged(eagle3(tuple(v * 1.1 for v in STEADY)), twins)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the controls drift by 20.0%" in verdict.headline
    assert verdict.do is not None


def test_a_win_must_hold_against_the_better_control() -> None:
    """Drift of 5 % lies within an effect of 34 %, and widens the interval."""
    twins = controls(STEADY, tuple(v * 1.05 for v in STEADY))
    verdict = judged(eagle3(), twins)

    assert verdict.outcome is Outcome.PASS
    assert verdict.interval is not None
    assert verdict.interval[0] < 0.29
    assert verdict.interval[1] > 0.33
    assert "drift between the controls 5.0%" in verdict.evidence


def test_one_control_is_enough_but_brackets_nothing() -> None:
    verdict = judged(eagle3(), controls()[:1])

    assert verdict.outcome is Outcome.PASS
    assert "one control only: drift of the machine is not bracketed" in verdict.warnings


def test_too_few_repeats_say_how_many_are_missing() -> None:
    workload = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 3}
    twins = controls(STEADY[:3], STEADY[:3])
    verdict = judged(eagle3((59.8, 59.9, 60.0)), twins, workloads=[workload])

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "n=3 a side needs 1 more" in verdict.headline
    assert verdict.do == "raise repeats of single by 1"


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
