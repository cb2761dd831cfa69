"""A measured number that nothing is asked of: told, and judged by no limit."""

from __future__ import annotations

import statistics

from tokgate.records import LaunchEvidence, Outcome, Verdict

from .metrics import Metric
from .series import Series


def note(
    check: str,
    headline: str,
    *,
    launch: LaunchEvidence,
    workload: str,
    metric: Metric,
    series: Series,
    raw: tuple[str, ...],
    warnings: tuple[str, ...] = (),
) -> Verdict:
    """Return a pass that names no reference: the median of the series, in the metric's unit."""
    return Verdict(
        check=check,
        outcome=Outcome.PASS,
        headline=f"{headline}, no limit set",
        arm=launch.launch.arm,
        launch=launch.launch.id,
        workload=workload,
        metric=metric.name,
        value=statistics.median(series.values),
        unit=metric.unit,
        n=len(series.values),
        warnings=(*warnings, *series.warnings),
        raw=raw,
    )
