"""How far hosts lie apart, beside how far the server runs of one host do: host as a level of variance.

One-way random effects on the logarithms of run values (Searle, Casella, McCulloch 1992, "Variance components", sec. 3.6, the
ANOVA estimator for unbalanced data). With two or three hosts the estimate is coarse: what is told beside it is how many there
were, and the largest ratio between two of them, which is no estimate at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from tokgate.records.record import Record

_TWO = 2


class HostSpread(Record):
    """Relative standard deviations: 0.01 is 1 %. None where it cannot be told."""

    hosts: int
    runs: int  # server runs of all hosts together
    between_hosts: float | None  # beyond what runs of one host explain; 0 where nothing is left
    between_runs: float | None  # within one host; None with a single run on each
    apart: float  # highest host over lowest, less one


def host_spread(runs: Mapping[str, Sequence[float]]) -> HostSpread | None:
    """Return how far hosts lie apart. `runs`: host -> one positive value a server run. None with fewer than two hosts."""
    logs = {host: [math.log(v) for v in values if v > 0] for host, values in runs.items()}
    groups = [values for values in logs.values() if values]
    if len(groups) < _TWO:
        return None
    means = [fmean(values) for values in groups]
    n, k = sum(map(len, groups)), len(groups)
    grand = fmean([v for values in groups for v in values])
    within_df = n - k
    within = (
        sum((v - mean) ** 2 for values, mean in zip(groups, means, strict=True) for v in values) / within_df
        if within_df
        else None
    )
    between = sum(len(values) * (mean - grand) ** 2 for values, mean in zip(groups, means, strict=True)) / (
        k - 1
    )
    each = (n - sum(len(values) ** 2 for values in groups) / n) / (k - 1)  # runs a host, as it counts here
    component = max(0.0, (between - (within or 0.0)) / each)
    return HostSpread(
        hosts=k,
        runs=n,
        between_hosts=math.sqrt(component),
        between_runs=None if within is None else math.sqrt(within),
        apart=math.exp(max(means) - min(means)) - 1.0,
    )
