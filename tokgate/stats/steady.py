"""Steadiness of a series: is its warm-up over, does it drift, how far does it spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.records.record import Record

NEEDED_FOR_TREND = 5  # four values in perfect order have p = 0.083


class Steadiness(Record):
    """All changes are relative to the median of the series."""

    n: int
    median: float
    robust_cv: float  # 1.4826 x median absolute deviation / median: equals the CV for normal noise
    trend: float | None  # change from first to last value along the Theil-Sen line; None: n too small
    trend_p: float | None  # Kendall's tau, two-sided
    first: float  # how far the first value lies from the median of the others
    first_stands_out: bool  # it lies outside the range of all others
    warnings: tuple[str, ...] = ()

    def trending(self, floor: float, *, alpha: float = 0.05) -> bool:
        """Tell whether the series rises or falls by more than `floor`, beyond chance."""
        if self.trend is None or self.trend_p is None:
            return False
        return abs(self.trend) > floor and self.trend_p <= alpha

    def still_warming(self, floor: float) -> bool:
        """Tell whether the first value alone differs from all others by more than `floor`."""
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
    warnings: tuple[str, ...] = ()
    if n < NEEDED_FOR_TREND:
        warnings = (f"n={n} is too few to tell a trend from chance: it needs {NEEDED_FOR_TREND - n} more",)
    elif min(values) == max(values):
        trend, trend_p = 0.0, 1.0  # Kendall's tau of a constant is undefined; a constant has no trend
    else:
        # Here and not above: it takes most of a second, for which no usage error should wait.
        from scipy import stats  # noqa: PLC0415

        order = list(range(n))
        trend = float(stats.theilslopes(list(values), order).slope) * (n - 1) / median
        trend_p = float(stats.kendalltau(order, list(values)).pvalue)
    return Steadiness(
        n=n,
        median=median,
        robust_cv=1.4826 * deviation / median,
        trend=trend,
        trend_p=trend_p,
        first=values[0] / statistics.median(others) - 1,
        first_stands_out=n > 2 and not min(others) <= values[0] <= max(others),
        warnings=warnings,
    )
