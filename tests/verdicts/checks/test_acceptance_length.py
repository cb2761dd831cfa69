from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import ONE_RUN, controls, eagle3, make_launch, make_rig, restarted, series
from tokgate.records import LaunchEvidence, Outcome, SpecCounters, Verdict
from tokgate.verdicts.checks.acceptance_length import acceptance_length

SIX = (59.8,) * 6


def judged(launch: LaunchEvidence | Sequence[LaunchEvidence], **rig: Any) -> Verdict:
    """Where a test is about one run, no restart has to confirm what it shows."""
    sampling = ONE_RUN if isinstance(launch, LaunchEvidence) else {}
    changes = {"sampling": sampling, **rig}
    (verdict,) = acceptance_length(make_rig(**changes), launch, "single")
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


def test_a_floor_missed_by_one_run_wants_another() -> None:
    budget = {"metric": "accept_length", "at_least": 1.5}
    low = eagle3(verify_ct=200)
    alone, both = judged((low,), budgets=[budget]), judged((low, restarted(low)), budgets=[budget])

    assert (alone.outcome, alone.wanted) == (Outcome.INCONCLUSIVE, {"eagle3-2step": 1})
    assert both.outcome is Outcome.REGRESSED
    assert "3072 tokens in 2400 verify calls" in both.evidence


@pytest.mark.parametrize("verify_ct", [244, 256])
def test_speculation_that_is_on_and_useless_is_named(verify_ct: int) -> None:
    verdict = judged(eagle3(verify_ct=verify_ct))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.startswith("speculation is on and useless: accept length 1.0")
    assert verdict.do is not None
    assert "draft" in verdict.do


def test_useless_is_a_matter_of_weights_and_prompts_so_one_run_shows_it() -> None:
    assert judged((eagle3(verify_ct=256),)).outcome is Outcome.REGRESSED


def test_a_run_that_is_useful_beside_one_that_is_not_leaves_it_open() -> None:
    verdict = judged((eagle3(verify_ct=256), restarted(eagle3(verify_ct=138))))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "may be on and useless" in verdict.headline


def test_useless_is_allowed_where_the_rig_says_so_of_this_arm() -> None:
    """Random weights accept nothing, and are still good for other checks."""
    allowed = {"metric": "accept_length", "arm": "eagle3-2step", "at_least": 1.0}
    verdict = judged(eagle3(verify_ct=256), budgets=[allowed])

    assert verdict.outcome is Outcome.PASS
    assert verdict.wanted == {}
    assert "the floor 1 is the least there is" in verdict.headline
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


def without_counts(**changes: Any) -> LaunchEvidence:
    name = "02-eagle3-2step"
    generations = tuple(
        g.model_copy(update={"counters": g.counters and g.counters.model_copy(update=changes)})
        for g in series(launch=name)
    )
    return make_launch(generations, id=name, arm="eagle3-2step", role="arm")


@pytest.mark.parametrize("spec", [None, SpecCounters(verify_ct=0)])
def test_a_server_that_counts_no_verify_call_is_off_and_not_useless(spec: SpecCounters | None) -> None:
    verdict = judged(without_counts(spec=spec))

    assert verdict.outcome is Outcome.INVALID
    assert "speculation is off: not one of 6 answers counts a verify call" in verdict.headline
    assert "useless" not in verdict.headline
    assert verdict.value is None


def test_an_endpoint_that_never_tells_is_not_called_off() -> None:
    verdict = judged(without_counts(dialect="openai-usage"))

    assert verdict.outcome is Outcome.INVALID
    assert "accept length unknown" in verdict.headline


def around(*verify_cts: int) -> LaunchEvidence:
    name = "02-eagle3-2step"
    generations = tuple(
        g.model_copy(update={"index": n, "batch": n})
        for n, ct in enumerate(verify_cts)
        for g in series((59.8,), launch=name, verify_ct=ct)
    )
    return make_launch(generations, id=name, arm="eagle3-2step", role="arm")


def test_useless_is_established_by_the_interval_and_not_by_a_hairline() -> None:
    """Accept lengths from 1.041 to 1.058: which side of 1.05 the middle is on, six starts do not say."""
    verdict = judged(around(246, 245, 244, 243, 242, 246))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline.startswith("speculation may be on and useless: accept length 1.05")
    assert verdict.do == "raise repeats of single (n=6 now)"


def test_a_few_starts_do_not_establish_useless_but_say_what_it_looks_like() -> None:
    few = [{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 3}]
    verdict = judged(around(256, 256, 256), workloads=few)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "may be on and useless: accept length 1.00" in verdict.headline
    assert "n=3 and no interval" in verdict.headline


def test_a_floor_straddled_by_the_interval_is_not_broken() -> None:
    launch = around(138, 140, 136, 139, 137, 138)
    budget = {"metric": "accept_length", "at_least": 256 / 138}

    assert judged(launch, budgets=[budget]).outcome is Outcome.INCONCLUSIVE
    assert judged(launch, budgets=[{**budget, "at_least": 2.5}]).outcome is Outcome.REGRESSED
    assert judged(launch, budgets=[{**budget, "at_least": 1.8}]).outcome is Outcome.PASS
