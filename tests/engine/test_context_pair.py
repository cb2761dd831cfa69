"""On the context pair attention decides what is said: losslessness is shown, and its loss is seen."""

from __future__ import annotations

import pytest

from tests.golden import ContextPair, predict
from tokgate.records import Generation

from .acceptance import exact_part
from .conftest import SINGLE, TOGETHER, TOKENS, Planted, Told
from .engine import DRAFT_STEPS

pytestmark = pytest.mark.engine

Answers = tuple[Generation, ...]


def test_plain_output_is_as_predicted(context: ContextPair, context_plain: Told) -> None:
    for prompt, answer in context_plain.answers.items():
        assert answer.output_ids == predict(context, prompt, tokens=TOKENS, draft_steps=0).output_ids


def test_speculation_is_lossless(context_plain: Told, context_eagle3: tuple[Answers, Planted]) -> None:
    answers, _ = context_eagle3
    for prompt, answer in zip(SINGLE + TOGETHER, answers, strict=True):
        assert answer.output_ids == context_plain.answers[prompt].output_ids


def test_drafts_are_accepted_as_predicted(
    context: ContextPair, context_eagle3: tuple[Answers, Planted]
) -> None:
    answers, _ = context_eagle3
    for prompt, answer in zip(SINGLE + TOGETHER, answers, strict=True):
        told = exact_part(answer)
        assert told == predict(context, prompt, tokens=TOKENS, draft_steps=DRAFT_STEPS)
        # Else positions and slots of accepted drafts would hardly be tried.
        assert TOKENS / told.verify_ct > 1.5


@pytest.mark.parametrize("fault", ["wrong-position", "wrong-kv-slot once"])
def test_planted_faults_are_seen(context_eagle3: tuple[Answers, Planted], fault: str) -> None:
    """Even a single wrong KV slot of a single accepted token, whatever the prompt."""
    right, planted = context_eagle3
    assert planted.carried_out[fault] >= len(SINGLE)
    for before, wrong in zip(right[: len(SINGLE)], planted.faulty[fault], strict=True):
        assert wrong.output_ids != before.output_ids


def test_without_the_plant_all_is_well_again(context_eagle3: tuple[Answers, Planted]) -> None:
    right, planted = context_eagle3
    assert [a.output_ids for a in planted.after] == [a.output_ids for a in right[: len(SINGLE)]]
