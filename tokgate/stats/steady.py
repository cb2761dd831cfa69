"""Steadiness of a series: is its warm-up over, does it drift, how far does it spread.

What is called here makes a window worthless, so it has to be established, at a level of its own and beyond the floor: a
trend by Kendall's tau and by the near end of Theil and Sen's interval of its slope, a first value by how far one further
value of the others would lie (Student's t).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import scipy

from tokgate.records.record import Record

from .trend import kendall_p, theil_sen

NEEDED_FOR_TREND = 5  # four values in perfect order have p = 0.083
TREND_LEVEL = (
    0.02  # two-sided: five values in perfect order have p = 0.017, six with one pair swapped as well
)
FIRST_LEVEL = 0.01  # two-sided
BEYOND_LEVEL = 0.05  # one-sided, of either being no larger than the floor


class Steadiness(Record):
    """All changes are relative to the median of the series."""

    n: int
    median: float
    robust_cv: float  # 1.4826 x median absolute deviation / median: equals the CV for normal noise
    trend: float | None  # change from first to last value along the Theil-Sen line; None: n too small
    trend_p: float | None  # Kendall's tau, two-sided
    trend_least: float | None  # the near end of its interval, of the sign of the trend; 0: it may be none
    first: float  # how far the first value lies from the median of the others
    first_stands_out: bool  # it lies outside the range of all others
    first_p: float | None = (
        None  # of a value that far off, were it one of them, two-sided; None: too few others
    )
    first_least: float | None = None  # how far it lies off at least, of its sign; 0: it may be one of them
    warnings: tuple[str, ...] = ()

    def trending(self, floor: float, *, alpha: float = TREND_LEVEL) -> bool:
        """Tell whether the series rises or falls by more than `floor`, beyond chance."""
        if self.trend_least is None or self.trend_p is None:
            return False
        return abs(self.trend_least) > floor and self.trend_p <= alpha

    def still_warming(self, floor: float, *, alpha: float = FIRST_LEVEL) -> bool:
        """Tell whether the first value lies off beyond chance, so far that with it the mean is off by more than `floor`.

        One value of six that is 2 % off, beside five within 0.2 %, happens on a quiet H200: no mean of the window is
        wrong by it, and the median less.
        """
        return (
            self.first_off(floor, alpha=alpha)
            and self.first_least is not None
            and abs(self.first_least) / self.n > floor
        )

    def first_off(self, floor: float, *, alpha: float = FIRST_LEVEL) -> bool:
        """Tell whether the first value alone differs from all others by more than `floor`, beyond chance."""
        if self.first_p is None or self.first_least is None:
            return False
        return self.first_stands_out and abs(self.first_least) > floor and self.first_p <= alpha

    def may_be_warming(self, floor: float) -> bool:
        """Tell whether the first value lies outside all others by more than `floor`, by chance or not."""
        return self.first_stands_out and abs(self.first) > floor


def steadiness_of(values: Sequence[float]) -> Steadiness:
    """Describe a series in time order; raises ValueError on fewer than two values or a median of 0."""
    if len(values) < 2:
        raise ValueError(f"a series of {len(values)} says nothing about steadiness")
    median = statistics.median(values)
    if median <= 0:
        raise ValueError(f"the median is {median}, no relative spread exists")
    n = len(values)
    deviation = statistics.median(abs(v - median) for v in values)
    others = values[1:]
    trend: float | None = None
    trend_p: float | None = None
    least: float | None = None
    warnings: tuple[str, ...] = ()
    if n < NEEDED_FOR_TREND:
        warnings = (f"n={n} is too few to tell a trend from chance: it needs {NEEDED_FOR_TREND - n} more",)
    elif min(values) == max(values):
        trend, trend_p, least = (
            0.0,
            1.0,
            0.0,
        )  # Kendall's tau of a constant is undefined; a constant has no trend
    else:
        slopes = theil_sen(values, confidence=1 - 2 * BEYOND_LEVEL)
        low, trend, high = (s * (n - 1) / median for s in (slopes.low, slopes.slope, slopes.high))
        least = low if low > 0 else min(high, 0.0)
        trend_p = kendall_p(values)
    first_p, first_least = _first(values[0], others)
    return Steadiness(
        n=n,
        median=median,
        robust_cv=1.4826 * deviation / median,
        trend=trend,
        trend_p=trend_p,
        trend_least=least,
        first=values[0] / statistics.median(others) - 1,
        first_stands_out=n > 2 and not min(others) <= values[0] <= max(others),
        first_p=first_p,
        first_least=first_least,
        warnings=warnings,
    )


def _first(first: float, others: Sequence[float]) -> tuple[float | None, float | None]:
    """Return how often one further value of `others` would lie as far from their mean, and how far `first` does at least."""
    if len(others) < 3:
        return None, None
    mean = statistics.fmean(others)
    off, error = first - mean, statistics.stdev(others) * math.sqrt(1 + 1 / len(others))
    if error == 0:
        return (1.0 if off == 0 else 0.0), off / mean
    df = len(others) - 1
    least = max(abs(off) - error * float(scipy.special.stdtrit(df, 1 - BEYOND_LEVEL)), 0.0)
    return float(2 * scipy.special.stdtr(df, -abs(off) / error)), math.copysign(least, off) / mean
