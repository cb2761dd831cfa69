from __future__ import annotations

import re

import pytest

from tests.verdicts.baselines.stored_runs import (
    RIG,
    by,
    judged,
    stored,
)
from tests.verdicts.evidence import (
    STEADY,
    make_launch,
    make_rig,
)
from tokgate.records import Outcome
from tokgate.verdicts.baselines.file import BaselineLaunch
from tokgate.verdicts.checks.stored_baseline import stored_baseline


@pytest.mark.parametrize(
    ("factor", "outcome", "words"),
    [
        (0.90, Outcome.REGRESSED, "-10.0%, worse than baseline 44.6, interval -1"),
        (0.95, Outcome.REGRESSED, "-5.0%, worse than baseline 44.6"),
        (0.985, Outcome.PASS, "-1.5%, a loss below the floor of 2.0% against baseline 44.6, interval -2."),
        (1.0, Outcome.PASS, "0.0%, no loss against baseline 44.6"),
        (1.10, Outcome.IMPROVED, "+10.0%, better than baseline 44.6"),
    ],
)
def test_creep_is_told_with_its_interval(factor: float, outcome: Outcome, words: str) -> None:
    verdict = judged(by(factor), stored())

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert verdict.reference is not None
    assert verdict.reference.value == pytest.approx(44.6, rel=1e-3)
    assert verdict.reference.n == 72
    assert verdict.change == pytest.approx(factor - 1, abs=0.001)
    assert (verdict.do is None) is (outcome in (Outcome.PASS, Outcome.IMPROVED))


def test_no_change_is_told_with_what_could_have_been_seen() -> None:
    """Of a pass that a reader may believe: the loss that is excluded, and the one that would have been called."""
    verdict = judged(STEADY, stored())

    (excluded,) = re.findall(r"; a loss of ([0-9.]+)% would have been seen$", verdict.headline)
    assert 0.5 < float(excluded) < 3
    assert verdict.smallest is not None
    assert float(excluded) < verdict.smallest * 100 < 10
    assert any(f"called from {verdict.smallest:.1%} on" in line for line in verdict.evidence)


def test_without_the_power_to_see_a_loss_nothing_passes() -> None:
    """One stored session whose runs lie 2 % apart: no loss is measured, and none is excluded."""
    verdict = judged(by(0.992), stored(sessions=1, apart=0.02))

    assert abs(verdict.change or 0) < 0.001
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "a loss of 3.0% is not excluded" in verdict.headline
    assert verdict.needs is not None
    assert verdict.needs in (verdict.do or "")


def test_noise_of_restarts_hides_what_quiet_restarts_show() -> None:
    """A loss of 6 %, against runs that are alike and against runs that lie up to 6 % apart."""
    assert judged(by(0.94), stored()).outcome is Outcome.REGRESSED
    noisy = judged(by(0.94), stored(apart=0.03))

    assert noisy.outcome is Outcome.INCONCLUSIVE
    assert "the loss is not established" in noisy.headline


def test_the_starts_of_one_run_are_no_evidence_of_another() -> None:
    """Sixty starts of a run that are alike say nothing about the next run: the interval hardly moves."""
    (few, many) = (judged(by(0.97) * n, stored()).interval for n in (1, 10))

    assert few is not None
    assert many is not None
    assert many[1] - many[0] == pytest.approx(few[1] - few[0], rel=0.1)


def test_what_it_rests_on_is_told() -> None:
    told = " | ".join(judged(by(0.95), stored(sessions=1)).evidence)

    assert re.search(r"p=0\.\d+ of no loss, 1 run of 6 starts against 2 runs of 1 session", told)
    assert (
        "what it is compared with is of 1 session, so a prior of 0.50% between sessions weighs more" in told
    )
    assert (
        "restarts: 1 seen beyond the first, so a prior of 0.50% with 4 degrees of freedom weighs more" in told
    )
    assert "of the session's 1% (one of" in told
    assert re.search(r"one run differs from the next by 0\.\d+%, sessions beyond that by 0\.\d+%", told)


def test_the_floors_of_the_rig_count() -> None:
    wide = make_rig(floors={"decode_tok_s": {"relative": 0.2, "absolute": 2.0}}, sampling={"gpu_time_s": 0})
    verdict = judged(by(0.9), stored(), rig=wide)

    assert verdict.outcome is Outcome.PASS
    assert verdict.floor == "20.0% and 2 tok/s, both exceeded"


def test_what_is_stored_may_have_a_wider_floor_than_what_one_session_tells_apart() -> None:
    """Machines of one kind lie further apart than two runs on one: the same loss is none against the other's number."""
    narrow = {"relative": 0.005, "absolute": 0.1}
    rig = make_rig(floors={"decode_tok_s": {**narrow, "stored": 0.03}}, sampling={"gpu_time_s": 0})

    verdict = judged(by(0.98), stored(), rig=rig)
    assert verdict.outcome is Outcome.PASS
    assert verdict.floor == "3.0% and 0.1 tok/s, both exceeded"
    same = make_rig(floors={"decode_tok_s": narrow}, sampling={"gpu_time_s": 0})
    assert judged(by(0.98), stored(), rig=same).outcome is Outcome.REGRESSED


def test_sessions_that_differ_by_more_than_runs_do_are_no_matter_of_clocks_and_heat() -> None:
    rig = make_rig(floors={"decode_tok_s": {"relative": 0.0025, "absolute": 0.1}}, sampling={"gpu_time_s": 0})
    verdict = judged(by(1.0), stored(sessions_apart=0.01), rig=rig)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.do is not None
    assert re.search(r"differs by \d\.\d% from session to session", verdict.do)
    assert "[floors] stored" in verdict.do


def test_both_floors_must_be_exceeded() -> None:
    """10 % of 44.6 tok/s are 4.5: a floor of 5 tok/s is the larger one, and the loss lies below it."""
    rig = make_rig(floors={"decode_tok_s": {"relative": 0.02, "absolute": 5.0}}, sampling={"gpu_time_s": 0})

    assert "a loss below the floor of 11.2%" in judged(by(0.9), stored(), rig=rig).headline


def test_only_metrics_that_both_have_are_compared() -> None:
    baseline = stored()
    samples = {"decode_tok_s": ((44.6,),) * 6, "ttft_ms": ((20.0,),) * 6, "cycle_ms": ((9.0,),) * 6}
    both = baseline.model_copy(
        update={"launches": (BaselineLaunch(run_id="r", launch="01", samples=samples),)}
    )
    verdicts = stored_baseline(RIG, (make_launch(),), "single", both, None)

    assert [v.metric for v in verdicts] == ["decode_tok_s", "ttft_ms"]


def test_a_baseline_without_the_speed_is_invalid_not_a_pass() -> None:
    """Its first-token times are as they were; samples of the speed were taken out of it."""
    samples = {"ttft_ms": ((20.0,),) * 6}
    baseline = stored().model_copy(
        update={"launches": (BaselineLaunch(run_id="r", launch="01", samples=samples),)}
    )
    verdict = judged(by(0.8), baseline)

    assert verdict.outcome is Outcome.INVALID
    assert (
        f"{baseline.name} holds no sample of decode_tok_s, which is the speed of single" in verdict.headline
    )
    assert verdict.do is not None
    assert f"git checkout -- {baseline.name}" in verdict.do
