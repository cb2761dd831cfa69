from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_generation, make_launch, make_rig
from tokgate.records import Generation, LaunchEvidence, Outcome, ServerCounters, Verdict
from tokgate.verdicts.checks.lossless import lossless, lossless_applies

WORDS = ((1, 2, 3, 4, 5, 6, 7, 8), (11, 12, 13, 14, 15, 16, 17, 18))
NEAR_TIE = {"mode": "near-tie", "prompts": "ids", "count": 2, "output_tokens": 8, "max_gap": 0.05}


def said(*outputs: tuple[int, ...], launch: str, **changes: Any) -> tuple[Generation, ...]:
    return tuple(
        make_generation(
            index=i,
            launch=launch,
            workload="lossless",
            tokens=8,
            output_ids=ids,
            body_file=f"launches/{launch}/bodies/{i}.sse",
            **changes,
        )
        for i, ids in enumerate(outputs)
    )


def control(*outputs: tuple[int, ...], **changes: Any) -> LaunchEvidence:
    return make_launch(said(*(outputs or WORDS), launch="01-baseline", **changes))


def arm(*outputs: tuple[int, ...], name: str = "eagle3-2step", **changes: Any) -> LaunchEvidence:
    generations = said(*(outputs or WORDS), launch=f"02-{name}", **changes)
    return make_launch(generations, id=f"02-{name}", arm=name, role="arm")


def judged(ours: LaunchEvidence, theirs: LaunchEvidence, **rig: Any) -> Verdict:
    (verdict,) = lossless(make_rig(**rig), ours, theirs)
    return verdict


def test_the_same_words_pass() -> None:
    verdict = judged(control(), arm())

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == "eagle3-2step says what its twin says: all 2 outputs of 8 tokens are identical"
    assert verdict.n == 2


def test_one_other_token_is_named_with_prompt_position_and_both_ids() -> None:
    verdict = judged(control(), arm(WORDS[0], (11, 12, 13, 99, 15, 16, 17, 18)))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline == (
        "speculation changes the output on eagle3-2step: prompt 1 parts at token 3 (14 became 99)"
    )
    assert verdict.raw == ("launches/01-baseline/bodies/1.sse", "launches/02-eagle3-2step/bodies/1.sse")
    assert verdict.do


@pytest.mark.parametrize(
    ("pair", "gap", "outcome"),
    [
        ((14, 99), 0.02, Outcome.PASS),
        ((99, 14), 0.0, Outcome.PASS),
        ((14, 99), 0.2, Outcome.REGRESSED),
        ((14, 77), 0.02, Outcome.REGRESSED),
        ((77, 99), 0.02, Outcome.REGRESSED),
    ],
    ids=["a tie", "a dead heat in the other order", "a wide gap", "a third token", "not the control's best"],
)
def test_a_near_tie_excuses_only_the_second_best_token(
    pair: tuple[int, int], gap: float, outcome: Outcome
) -> None:
    logprobs = tuple(((-0.5, pair[0]), (-0.5 - gap, pair[1])) for _ in range(8))
    theirs = arm(WORDS[0], (11, 12, 13, 99, 1, 2, 3, 4))
    verdict = judged(control(top_logprobs=logprobs), theirs, lossless=NEAR_TIE)

    assert verdict.outcome is outcome
    assert any(f"gap {gap:.4f}" in e for e in verdict.evidence)


def test_a_near_tie_is_excused_in_that_mode_only() -> None:
    logprobs = tuple(((-0.5, 14), (-0.5, 99)) for _ in range(8))
    theirs = arm(WORDS[0], (11, 12, 13, 99, 15, 16, 17, 18))

    assert judged(control(top_logprobs=logprobs), theirs).outcome is Outcome.REGRESSED


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        (((-0.1, 14), (-0.2, 99)),),
        (((-0.1, 14),),) * 8,
        (((float("nan"), 14), (-0.1, 99)),) * 8,
    ],
    ids=["not told", "too short", "one candidate only", "not a number"],
)
def test_without_log_probabilities_a_divergence_is_neither_excused_nor_blamed(logprobs: Any) -> None:
    theirs = arm(WORDS[0], (11, 12, 13, 99, 15, 16, 17, 18))
    verdict = judged(control(top_logprobs=logprobs), theirs, lossless=NEAR_TIE)

    assert verdict.outcome is Outcome.INVALID
    assert "no log-probabilities" in verdict.headline


def test_equal_outputs_need_no_log_probabilities() -> None:
    assert judged(control(), arm(), lossless=NEAR_TIE).outcome is Outcome.PASS


def test_a_real_fault_outweighs_a_tie() -> None:
    logprobs = tuple(((-0.5, 14), (-0.5, 99)) for _ in range(8))
    theirs = arm((1, 2, 3, 88, 5, 6, 7, 8), (11, 12, 13, 99, 15, 16, 17, 18))
    verdict = judged(control(top_logprobs=logprobs), theirs, lossless=NEAR_TIE)

    assert verdict.outcome is Outcome.REGRESSED
    assert "prompt 0 parts at token 3 (4 became 88)" in verdict.headline


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (control(), arm(WORDS[0]), "1 good generations of lossless where 2"),
        (control(WORDS[0]), arm(), "1 good generations of lossless where 2"),
        (control(), arm(WORDS[0], (11, 12)), "prompt 1 of 02-eagle3-2step came back with 2 ids, wanted 8"),
        (control(), arm((), ()), "came back with 0 ids"),
    ],
)
def test_short_and_missing_outputs_are_invalid(
    ours: LaunchEvidence, theirs: LaunchEvidence, words: str
) -> None:
    verdict = judged(ours, theirs)

    assert verdict.outcome is Outcome.INVALID
    assert words in verdict.headline
    assert verdict.arm == "eagle3-2step"


def test_outputs_without_ids_are_invalid() -> None:
    silent = arm()
    generations = tuple(g.model_copy(update={"output_ids": None}) for g in silent.generations)
    verdict = judged(control(), silent.model_copy(update={"generations": generations}))

    assert verdict.outcome is Outcome.INVALID
    assert "no output ids" in verdict.headline


def test_other_prompts_are_invalid() -> None:
    elsewhere = tuple(g.model_copy(update={"index": g.index + 5}) for g in arm().generations)
    verdict = judged(control(), arm().model_copy(update={"generations": elsewhere}))

    assert verdict.outcome is Outcome.INVALID
    assert "prompts [0, 1] of 01-baseline against [5, 6]" in verdict.headline


def test_prompts_of_another_length_are_invalid() -> None:
    longer = ServerCounters(dialect="0.5.13", prompt_tokens=9, completion_tokens=8)
    verdict = judged(control(), arm(counters=longer))

    assert verdict.outcome is Outcome.INVALID
    assert "prompt 0 had 8 tokens on one side and 9 on the other" in verdict.headline


def test_a_control_that_contradicts_itself_is_invalid() -> None:
    twice = control()
    other = said((1, 2, 3, 4, 5, 6, 7, 99), launch="01-baseline")
    both = twice.model_copy(update={"generations": (*twice.generations, *other)})
    verdict = judged(both, arm())

    assert verdict.outcome is Outcome.INVALID
    assert "01-baseline itself gives two answers to prompt 0" in verdict.headline


def test_outputs_of_a_single_token_are_equal_and_show_little() -> None:
    flat = (100,) * 8
    verdict = judged(control(flat, flat), arm(flat, flat))

    assert verdict.outcome is Outcome.PASS
    assert verdict.warnings == ("2 of 2 outputs repeat one token: their equality shows little",)


def test_a_pinned_arm_is_not_judged() -> None:
    verdict = judged(control(), arm(name="eagle3-pinned"))

    assert verdict.outcome is Outcome.INVALID
    assert "its acceptance is pinned" in verdict.headline


def test_where_the_promise_applies() -> None:
    rig = make_rig()
    hidden = rig.arm("eagle3-2step").model_copy(update={"environment": {"SGLANG_SIMULATE_ACC_LEN": "3"}})

    assert lossless_applies(rig, rig.arm("eagle3-2step"))
    assert not lossless_applies(rig, rig.arm("eagle3-pinned"))
    assert not lossless_applies(rig, rig.control)
    assert not lossless_applies(rig, hidden)


def test_a_rig_without_the_section_is_invalid() -> None:
    verdict = judged(control(), arm(), lossless=None)

    assert verdict.outcome is Outcome.INVALID
    assert "declares no lossless section" in verdict.headline
