"""Centre and spread of the values of one metric, assuming nothing about their distribution."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction

from tokgate.records import Summary


def summarise(values: Sequence[float], *, confidence: float = 0.95) -> Summary:
    """Return the median with an interval between two order statistics.

    The interval (x[k], x[n+1-k]) holds the true median with probability
    1 - 2 P(Binomial(n, 1/2) < k), whatever the distribution; k is the largest one that keeps
    the confidence asked for (David and Nagaraja, Order Statistics, 3rd ed., 7.1). Assumed: the
    values are independent draws. With too few values there is no interval, and a warning says
    how many are missing. Raises ValueError on no values or on a value that is not finite.
    """
    if not values:
        raise ValueError("no values: an empty series has no summary")
    if not all(math.isfinite(v) for v in values):
        raise ValueError(f"not all values are finite: {list(values)!r}")
    ordered = sorted(values)
    n = len(ordered)
    rank = _rank(n, confidence)
    warnings: tuple[str, ...] = ()
    if rank is None:
        more = needed_for_interval(confidence) - n
        warnings = (f"n={n} is too few for a {confidence:.0%} interval of the median: it needs {more} more",)
    return Summary(
        n=n,
        median=statistics.median(ordered),
        mean=statistics.fmean(ordered),
        minimum=ordered[0],
        maximum=ordered[-1],
        interval=None if rank is None else (ordered[rank - 1], ordered[n - rank]),
        confidence=confidence,
        warnings=warnings,
    )


def needed_for_interval(confidence: float = 0.95) -> int:
    """Return the smallest n for which `summarise` gives an interval: 6 at 95 %."""
    n = 2
    while _rank(n, confidence) is None:
        n += 1
    return n


def _rank(n: int, confidence: float) -> int | None:
    """Return the largest 1-based k with 2 P(Binomial(n, 1/2) < k) <= 1 - confidence."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    # In whole numbers: 2**n is beyond a float from n = 1024 on, and 100 000 values must not take minutes.
    allowed = math.floor(Fraction((1 - confidence) / 2) * 2**n)
    ways, tail = 1, 0  # n over k - 1, and the sum of those so far
    rank: int | None = None
    for k in range(1, n // 2 + 1):
        tail += ways
        if tail > allowed:
            break
        rank = k
        ways = ways * (n - k + 1) // k
    return rank
