from __future__ import annotations

import random

import pytest

from tokgate.verdicts.pinned import Method, PinnedRange, pinned_range


def allowed(
    pin: float,
    *,
    num_steps: int = 3,
    method: Method = "match-expected",
    generations: int = 1,
    verify_calls: int = 100,
    concurrency: int = 1,
) -> PinnedRange:
    return pinned_range(
        pin,
        num_steps=num_steps,
        method=method,
        generations=generations,
        verify_calls=verify_calls,
        concurrency=concurrency,
    )


def serve(pin: float, tokens: int, rng: random.Random) -> tuple[int, int]:
    """Tokens and verify calls of one generation, drawn as SGLang draws them."""
    made, calls, lower = 1, 0, int(pin)
    while made < tokens:
        made += lower + (rng.random() < pin - lower)
        calls += 1
    return tokens, calls


@pytest.mark.parametrize(
    ("tokens", "calls"),
    [(32, 11), (31, 10), (30, 10), (29, 10)],
    ids=["cut by two", "whole", "cut by one", "cut by two of a shorter one"],
)
def test_a_whole_pin_is_exact_up_to_the_cut_of_the_last_call(tokens: int, calls: int) -> None:
    """Pinned at 3: 32 tokens in 11 calls were seen on a real server."""
    found = allowed(3.0, verify_calls=calls)

    assert found.low - 1e-9 <= tokens / calls <= found.high + 1e-9


def test_a_whole_pin_leaves_no_room_for_noise() -> None:
    found = allowed(3.0, verify_calls=1000)

    assert (found.expected, found.low, found.high) == (3.0, 2.999, 3.001)


def test_a_broken_pin_draws_both_neighbours() -> None:
    """2.44 to 2.59 was measured with a pin of 2.5 at 256 tokens."""
    found = allowed(2.5, num_steps=2, verify_calls=103)

    assert found.expected == 2.5
    assert 2.25 < found.low < 2.44
    assert 2.59 < found.high < 2.75


def test_more_calls_leave_less_room() -> None:
    few, many = allowed(2.5, verify_calls=100), allowed(2.5, verify_calls=10_000)

    assert many.high - many.low < (few.high - few.low) / 9


def test_streams_of_one_batch_share_their_draws() -> None:
    alone, together = allowed(2.5, verify_calls=400), allowed(2.5, verify_calls=400, concurrency=4)

    assert together.high > alone.high


@pytest.mark.parametrize("pin", [1.0, 1.7, 2.0, 2.5, 3.3, 4.0])
def test_a_server_that_draws_as_told_is_believed(pin: float) -> None:
    rng = random.Random(5)
    for _ in range(200):
        pairs = [serve(pin, 64, rng) for _ in range(6)]
        tokens, calls = sum(t for t, _ in pairs), sum(c for _, c in pairs)
        found = allowed(pin, generations=6, verify_calls=calls)
        assert found.low - 1e-9 <= tokens / calls <= found.high + 1e-9


def test_another_pin_is_told_apart() -> None:
    rng = random.Random(6)
    pairs = [serve(2.2, 256, rng) for _ in range(6)]
    tokens, calls = sum(t for t, _ in pairs), sum(c for _, c in pairs)

    assert tokens / calls < allowed(2.5, generations=6, verify_calls=calls).low


@pytest.mark.parametrize(("pin", "expected"), [(9.0, 3.0), (2.0, 2.0)])
def test_a_pin_is_held_within_the_drafts_there_are(pin: float, expected: float) -> None:
    assert allowed(pin, num_steps=2).expected == expected


def test_the_old_method_rounds_and_clamps_a_normal() -> None:
    """normal(2.5, 1) within 1 to 3: half below 2.5, of which 0.159 is 1; so 0.159 + 0.683 + 1.5."""
    found = allowed(2.5, num_steps=2, method="multinomial", verify_calls=10_000)

    assert found.expected == pytest.approx(0.1587 * 1 + 0.3413 * 2 + 0.5 * 3, abs=1e-3)


@pytest.mark.parametrize(("generations", "calls"), [(0, 10), (1, 0)])
def test_nothing_shows_no_accept_length(generations: int, calls: int) -> None:
    with pytest.raises(ValueError, match="no accept length"):
        allowed(2.5, generations=generations, verify_calls=calls)
