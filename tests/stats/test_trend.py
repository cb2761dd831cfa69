"""Trends of a series: the figures are those of scipy.stats, and are told of series that it is not asked about."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from scipy import stats

from tokgate.stats.trend import EXACT, kendall_p, theil_sen

CONFIDENCE = 0.9


def drawn(seed: int) -> list[float]:
    """Draw 3 to 60 values with some trend; every third series is coarse, so that values are equal."""
    dice = random.Random(seed)
    slope, digits = dice.uniform(-1, 1) ** 3, 0 if seed % 3 == 0 else 6
    return [round(100 + slope * i + dice.gauss(0, 2), digits) for i in range(dice.randint(3, 60))]


@pytest.mark.parametrize("seed", range(100))
def test_both_are_those_of_scipy(seed: int) -> None:
    values = drawn(seed)
    order = list(range(len(values)))
    slope = stats.theilslopes(values, order, alpha=CONFIDENCE)
    expected = (slope.slope, slope.low_slope, slope.high_slope)
    assert theil_sen(values, confidence=CONFIDENCE) == pytest.approx(expected, rel=1e-12)
    assert kendall_p(values) == pytest.approx(stats.kendalltau(order, values).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([1.0, 2.0], 1.0),
        ([1.0, 2.0, 3.0, 4.0], 2 / 24),
        ([5.0, 4.0, 3.0, 2.0, 1.0], 2 / 120),
        ([1.0, 2.0, 3.0, 5.0, 4.0], 2 * 5 / 120),  # one pair swapped: four such orders, and the perfect one
    ],
)
def test_few_values_are_counted_out(values: Sequence[float], p: float) -> None:
    assert kendall_p(values) == pytest.approx(p)


def test_many_values_without_ties_take_the_normal_distribution() -> None:
    values = [float(v) for v in random.Random(1).sample(range(1000), EXACT + 1)]
    exact = stats.kendalltau(range(len(values)), values, method="exact").pvalue
    assert kendall_p(values) != exact
    assert kendall_p(values) == pytest.approx(exact, rel=0.05)


def test_what_has_no_order_or_no_slope_is_refused() -> None:
    with pytest.raises(ValueError, match="no order"):
        kendall_p([3.0, 3.0, 3.0])
    with pytest.raises(ValueError, match="1 values have no slope"):
        theil_sen([3.0], confidence=CONFIDENCE)
