"""Bounds of few trials, against numbers from tables and against counting."""

from __future__ import annotations

import math

import pytest

from tokgate.stats.exact import clopper_pearson


@pytest.mark.parametrize(
    ("seen", "of", "low", "high"), [(0, 24, 0.0, 0.1173), (6, 6, 0.6070, 1.0), (0, 0, 0.0, 1.0)]
)
def test_known_bounds(seen: int, of: int, low: float, high: float) -> None:
    assert clopper_pearson(seen, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("seen", "of"), [(1, 20), (7, 10), (3, 3)])
def test_at_its_bounds_a_rate_shows_so_much_or_so_little_in_one_of_twenty_cases(seen: int, of: int) -> None:
    def at_most(rate: float, count: int) -> float:
        return sum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(count + 1))

    low, high = clopper_pearson(seen, of)
    assert 1 - at_most(low, seen - 1) == pytest.approx(0.05)
    if seen < of:
        assert at_most(high, seen) == pytest.approx(0.05)


def test_more_than_there_were_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        clopper_pearson(3, 2)
