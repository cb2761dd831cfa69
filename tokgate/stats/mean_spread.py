"""Means with their variance, and the interval of a sum of independent ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import scipy

from tokgate.records.record import Record


class Mean(Record):
    mean: float
    variance: float | None  # of the mean; None: one value
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        variance = statistics.variance(values) / len(values) if len(values) > 1 else None
        return cls(mean=statistics.fmean(values), variance=variance, n=len(values))

    @classmethod
    def told(cls, mean: float, sd: float | None, n: int) -> Mean:
        """Return the mean of values of which only these are known."""
        return cls(mean=mean, variance=sd**2 / n if sd is not None and n > 1 else None, n=n)

    def scaled(self, factor: float) -> Mean:
        variance = None if self.variance is None else self.variance * factor**2
        return Mean(mean=self.mean * factor, variance=variance, n=self.n)


def interval_of(centre: float, means: Sequence[Mean], confidence: float) -> tuple[float, float] | None:
    """Return the interval around `centre` of what varies as the sum of `means` does; None: one has no spread.

    Student's t with Welch and Satterthwaite's degrees of freedom.
    """
    variances = [(m.variance, m.n) for m in means]
    total = math.fsum(v for v, _ in variances if v is not None)
    if any(v is None for v, _ in variances) or not math.isfinite(total):
        return None
    if total == 0:
        return (centre, centre)
    # Parts of the whole first: squares of tiny variances would be 0.
    freedom = 1 / math.fsum((v / total) ** 2 / (n - 1) for v, n in variances if v)
    half = float(scipy.special.stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(total)
    return (centre - half, centre + half)
