from __future__ import annotations

import pytest

from tokgate.verdicts.break_even import BreakEven, break_even


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


def box(cycle_ms: float = 19.7) -> BreakEven:
    return break_even(accept_length=1.85, tokens=256, decode_ms=1000 / 88.8, cycle_ms=cycle_ms)


def test_the_speed_is_what_the_cycles_make() -> None:
    assert box().tok_s == pytest.approx(1.85 * 255 / 256 / 19.7e-3)
    assert box().speed_up == pytest.approx(box().tok_s / 88.8)


def test_at_its_least_accept_length_a_cycle_breaks_even() -> None:
    least = box(30.6).least_accept_length
    assert least == pytest.approx(2.728, abs=0.001)
    assert least is not None
    even = break_even(accept_length=least, tokens=256, decode_ms=1000 / 88.8, cycle_ms=30.6)
    assert even.headroom_ms == pytest.approx(0.0, abs=1e-12)
    assert "wins from accept length 2.73 on" in box(30.6).text()


def test_a_budget_that_wins_by_a_margin() -> None:
    budget = box().cycle_budget(0.05)
    assert budget == pytest.approx(box().limit_ms / 1.05)
    assert box(budget).speed_up == pytest.approx(1.05)


def test_a_phase_may_take_what_the_rest_of_the_cycle_leaves() -> None:
    """The rest takes 0.6 ms; where it alone is too long, no verify is short enough."""
    assert box(30.6).phase_budget(30.0) == pytest.approx(box().limit_ms - 0.6)
    assert box(30.6).phase_budget(1.0) is None


def test_a_generation_of_one_token_has_no_least_accept_length() -> None:
    assert break_even(accept_length=1.0, tokens=1, decode_ms=5.0, cycle_ms=5.0).least_accept_length is None


def test_a_loss_is_answered_by_the_cycle_and_by_the_acceptance_that_it_would_need() -> None:
    found = break_even(accept_length=1.86, tokens=10**6, decode_ms=11.72, cycle_ms=31.0)
    assert found.answer() == (
        "accept length 1.86, cycle 31.0 ms: 9.2 ms over break-even (21.8 ms) at that accept length; "
        "so long a cycle would need accept length 2.65"
    )


def test_a_loss_that_is_not_the_cycles_says_so() -> None:
    found = break_even(accept_length=1.86, tokens=10**6, decode_ms=20.3, cycle_ms=36.6)
    assert found.answer(streams=8).startswith(
        "accept length 1.86, cycle 36.6 ms: within break-even (37.8 ms), so no stream decodes slower"
    )


def test_of_one_stream_nobody_waits_for_another() -> None:
    found = break_even(accept_length=1.86, tokens=10**6, decode_ms=20.3, cycle_ms=36.6)
    told = found.answer(1.0, reached=0.99)
    assert "wait for one another" not in told
    assert "by these it keeps 1.00x (37.8 ms) while the decode rate reaches 0.99x" in told
