"""Does a series rise or fall: Kendall's test, and Theil and Sen's slope with its interval.

For values in order of time, so that the other variable is 0, 1, 2, … and has no ties. scipy.stats gives the same figures
(tests/stats/test_trend.py), but every gate would wait most of a second for it to be loaded.

Kendall 1970, Rank Correlation Methods; Sen 1968, Estimates of the regression coefficient based on Kendall's tau.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, combinations
from statistics import NormalDist, median
from typing import NamedTuple

EXACT = 33  # values: with more, or with ties, a normal distribution stands for the exact one


class Slope(NamedTuple):
    """Per place of the series, in the unit of its values."""

    slope: float
    low: float
    high: float


def kendall_p(values: Sequence[float]) -> float:
    """Return how often values without a trend would be ordered as clearly, two-sided. ValueError: they are all equal."""
    n, pairs = len(values), math.comb(len(values), 2)
    signs = [(b > a) - (b < a) for a, b in combinations(values, 2)]
    if not any(signs):
        raise ValueError("a constant has no order")
    if n <= EXACT and all(signs):
        return _exact_p(n, min(signs.count(-1), pairs - signs.count(-1)))
    return math.erfc(abs(sum(signs)) / math.sqrt(2 * _variance(values)))


def theil_sen(values: Sequence[float], *, confidence: float) -> Slope:
    """Return the median slope of all pairs and its interval. ValueError with fewer than two values."""
    if len(values) < 2:
        raise ValueError(f"{len(values)} values have no slope")
    slopes = sorted((b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(values), 2))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(_variance(values))
    low, high = round((len(slopes) - reach) / 2) - 1, round((len(slopes) + reach) / 2)
    return Slope(median(slopes), slopes[max(low, 0)], slopes[min(high, len(slopes) - 1)])


def _variance(values: Sequence[float]) -> float:
    """Return that of the sum of the signs of all differences, where there is no trend."""
    ties = Counter(values).values()
    return (_term(len(values)) - sum(map(_term, ties))) / 18


def _term(n: int) -> int:
    return n * (n - 1) * (2 * n + 5)


def _exact_p(n: int, inversions: int) -> float:
    """Return the share of orders of n values with so few inversions, or so many, at most 1."""
    orders = [1] + [0] * inversions  # how many orders of 1, 2, … n values have 0, 1, 2, … inversions
    for more in range(2, n + 1):
        upto = list(accumulate(orders))
        orders = [upto[k] - (upto[k - more] if k >= more else 0) for k in range(inversions + 1)]
    return min(1.0, 2 * sum(orders) / math.factorial(n))
