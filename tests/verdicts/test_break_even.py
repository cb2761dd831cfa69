from __future__ import annotations

import pytest

from tokgate.verdicts.break_even import break_even


@pytest.mark.parametrize(
    ("cycle_ms", "words"),
    [(19.7, "1.05 ms of headroom"), (30.6, "9.85 ms too long")],
    ids=["94 tok/s", "60 tok/s"],
)
def test_a_box_whose_plain_decode_makes_88_8_tokens_a_second(cycle_ms: float, words: str) -> None:
    """Accept length 1.85: up to 20.8 ms a cycle speculation wins."""
    found = break_even(accept_length=1.85, tokens=256, decode_ms=1000 / 88.8, cycle_ms=cycle_ms)

    assert found.limit_ms == pytest.approx(20.8, abs=0.06)
    assert words in found.text()


def test_break_even_agrees_with_the_speeds_themselves() -> None:
    """32 tokens in 11 calls of 10 ms against a plain step of 3.5 ms: both sides count 31 tokens."""
    tokens, calls, cycle_ms, decode_ms = 32, 11, 10.0, 3.5
    speculative_tok_s = (tokens - 1) / (calls * cycle_ms / 1e3)
    found = break_even(accept_length=tokens / calls, tokens=tokens, decode_ms=decode_ms, cycle_ms=cycle_ms)

    assert found.limit_ms / cycle_ms == pytest.approx(speculative_tok_s / (1e3 / decode_ms))


def test_a_loss_is_answered_by_the_cycle_and_by_the_acceptance_that_it_would_need() -> None:
    found = break_even(accept_length=1.86, tokens=10**6, decode_ms=11.72, cycle_ms=31.0)
    assert found.answer() == (
        "accept length 1.86, cycle 31.0 ms: 9.2 ms over break-even (21.8 ms) at that accept length; "
        "so long a cycle would need accept length 2.65"
    )


def test_a_loss_that_is_not_the_cycles_says_so() -> None:
    found = break_even(accept_length=1.86, tokens=10**6, decode_ms=20.3, cycle_ms=36.6)
    assert found.answer().startswith("accept length 1.86, cycle 36.6 ms: within break-even (37.8 ms)")
