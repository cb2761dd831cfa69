from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_launch, make_rig, series
from tokgate.records import LaunchEvidence, Outcome
from tokgate.verdicts.checks.cache_state import cache_state


def cached(tokens: int | None) -> LaunchEvidence:
    """The third prompt was answered with that many cached tokens."""
    generations = tuple(
        g.model_copy(
            update={"counters": g.counters and g.counters.model_copy(update={"cached_tokens": tokens})}
        )
        if g.index == 2
        else g
        for g in series()
    )
    return make_launch(generations)


@pytest.mark.parametrize(
    ("tokens", "outcome", "words"),
    [
        (0, Outcome.PASS, "no cached token in 6 prompts of single on 01-baseline (flush)"),
        (7, Outcome.INVALID, "1 of 6 prompts came from the prefix cache (declared flush)"),
        (None, Outcome.INVALID, "the server told no cached_tokens for 1 of 6 generations"),
    ],
)
def test_the_cache_is_empty_as_declared(tokens: int | None, outcome: Outcome, words: str) -> None:
    (verdict,) = cache_state(make_rig(), cached(tokens), "single")

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert (verdict.do is None) is (outcome is Outcome.PASS)
