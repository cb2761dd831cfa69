"""The samples of a run, one series per launch, workload and metric, with every value."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tokgate.records import LaunchEvidence, Record, Role, RunEvidence, Sample, Summary
from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.stats.summary import summarise


class Point(Record):
    index: int  # generation index, or batch index for metrics of a whole batch
    value: float | None  # None: unknown, and `why` says so
    why: str | None = None
    warnings: tuple[str, ...] = ()


class Series(Record):
    launch: str
    arm: str
    role: Role
    workload: str
    metric: str
    unit: str
    sources: tuple[str, ...]
    points: tuple[Point, ...]
    summary: Summary | None  # None: not one value is known

    @property
    def known(self) -> tuple[float, ...]:
        return tuple(p.value for p in self.points if p.value is not None)


def series_of(evidence: RunEvidence) -> tuple[Series, ...]:
    """Return every series in order of measurement; values keep the order they were taken in."""
    return tuple(s for launch in evidence.launches for s in _of_launch(launch))


def judged(series: Iterable[Series]) -> tuple[Series, ...]:
    """Leave out the starts that only tell what the probe costs: their one answer is that cost."""
    return tuple(s for s in series if s.workload not in (PROBE_OFF, PROBE_ON))


def metrics_of(series: Iterable[Series]) -> tuple[str, ...]:
    """Return the metrics in order of their first appearance."""
    return tuple(dict.fromkeys(s.metric for s in series))


def _of_launch(evidence: LaunchEvidence) -> list[Series]:
    grouped: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in evidence.samples:
        grouped.setdefault((sample.workload, sample.metric, sample.unit), []).append(sample)
    return [
        _series(evidence, workload, metric, unit, samples)
        for (workload, metric, unit), samples in grouped.items()
    ]


def _series(evidence: LaunchEvidence, workload: str, metric: str, unit: str, samples: list[Sample]) -> Series:
    points = tuple(_point(s) for s in samples)
    known = [p.value for p in points if p.value is not None]
    return Series(
        launch=evidence.launch.id,
        arm=evidence.launch.arm,
        role=evidence.launch.role,
        workload=workload,
        metric=metric,
        unit=unit,
        sources=tuple(dict.fromkeys(s.source for s in samples)),
        points=points,
        summary=summarise(known) if known else None,
    )


def _point(sample: Sample) -> Point:
    value, why = sample.value, sample.why
    if value is not None and not math.isfinite(value):
        # JSON has no NaN or infinity, and no chart can place one.
        value, why = None, why or f"the value was {sample.value}"
    return Point(index=sample.index, value=value, why=why, warnings=sample.warnings)
