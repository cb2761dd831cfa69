from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import controls, eagle3, make_launch, make_rig, series
from tokgate.records import LaunchEvidence, Outcome, SpecCounters, Verdict
from tokgate.verdicts.checks.acceptance_length import acceptance_length

SIX = (59.8,) * 6


def judged(launch: LaunchEvidence, **rig: Any) -> Verdict:
    (verdict,) = acceptance_length(make_rig(**rig), launch, "single")
    return verdict


def pinned(verify_ct: int) -> LaunchEvidence:
    return eagle3(SIX, arm="eagle3-pinned", verify_ct=verify_ct)


def test_a_natural_arm_goes_by_the_budget() -> None:
    budget = {"metric": "accept_length", "at_least": 1.5}
    verdict = judged(eagle3(verify_ct=138), budgets=[budget])

    assert verdict.outcome is Outcome.PASS
    assert verdict.value == pytest.approx(256 / 138)
    assert "1536 tokens in 828 verify calls" in verdict.evidence
    assert judged(eagle3(verify_ct=200), budgets=[budget]).outcome is Outcome.REGRESSED


@pytest.mark.parametrize("verify_ct", [244, 256])
def test_speculation_that_is_on_and_useless_is_named(verify_ct: int) -> None:
    verdict = judged(eagle3(verify_ct=verify_ct))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.startswith("speculation is on and useless: accept length 1.0")
    assert verdict.do is not None
    assert "draft" in verdict.do


def test_useless_is_allowed_where_the_rig_says_so_of_this_arm() -> None:
    """Random weights accept nothing, and are still good for other checks."""
    allowed = {"metric": "accept_length", "arm": "eagle3-2step", "at_least": 1.0}
    verdict = judged(eagle3(verify_ct=256), budgets=[allowed])

    assert verdict.outcome is Outcome.PASS
    assert any("useless" in w for w in verdict.warnings)


def test_a_little_above_useless_is_a_matter_of_budgets() -> None:
    assert judged(eagle3(verify_ct=235)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("verify_ct", "outcome"),
    [(102, Outcome.PASS), (104, Outcome.PASS), (138, Outcome.INVALID), (88, Outcome.INVALID)],
)
def test_a_pinned_arm_must_show_its_pin(verify_ct: int, outcome: Outcome) -> None:
    verdict = judged(pinned(verify_ct))

    assert verdict.outcome is outcome
    assert ("holds its pin 2.5" in verdict.headline) is (outcome is Outcome.PASS)
    assert verdict.reference is not None
    assert verdict.reference.label == "pinned at 2.5"


def test_the_method_of_pinning_is_read_from_the_rig() -> None:
    arms = make_rig().model_dump()["arms"]
    arms[2]["environment"] = {"SGLANG_SIMULATE_ACC_METHOD": "multinomial"}
    verdict = judged(pinned(109), arms=arms)

    assert verdict.outcome is Outcome.PASS
    assert any("method multinomial: mean of the draws 2.341" in e for e in verdict.evidence)


def test_more_tokens_a_call_than_there_are_drafts_is_no_measurement() -> None:
    verdict = judged(eagle3(verify_ct=70))

    assert verdict.outcome is Outcome.INVALID
    assert "2 steps give at most 3" in verdict.headline


def test_histograms_are_summed() -> None:
    launch = eagle3()
    spec = SpecCounters(verify_ct=138, accept_length=256 / 138, correct_drafts_histogram=(64, 33, 41))
    generations = tuple(
        g.model_copy(update={"counters": g.counters and g.counters.model_copy(update={"spec": spec})})
        for g in launch.generations
    )
    verdict = judged(launch.model_copy(update={"generations": generations}))

    assert "verify calls that accepted 0, 1, 2 … drafts: [384, 198, 246]" in verdict.evidence


def test_an_arm_without_speculation_has_none() -> None:
    verdict = judged(controls()[0])

    assert verdict.outcome is Outcome.INVALID
    assert "baseline does no speculation" in verdict.headline


def test_a_server_that_counts_no_verify_calls_is_invalid() -> None:
    silent = make_launch(
        series(launch="02-eagle3-2step"), id="02-eagle3-2step", arm="eagle3-2step", role="arm"
    )
    verdict = judged(silent)

    assert verdict.outcome is Outcome.INVALID
    assert "accept length unknown" in verdict.headline
