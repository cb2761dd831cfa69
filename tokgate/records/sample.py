"""One number for one metric."""

from __future__ import annotations

from .record import Record


class Sample(Record):
    metric: str  # a key of verdicts.metrics.METRICS
    value: float | None  # None: unknown, and `why` says so
    unit: str
    source: str  # what the number was computed from, e.g. "meta_info.decode_throughput"
    why: str | None = None
    launch: str
    workload: str
    index: int  # generation index, or batch index for metrics of a whole batch
    warnings: tuple[str, ...] = ()


class Summary(Record):
    """Centre and spread of the values of one metric; interval is of the centre."""

    n: int
    median: float
    mean: float
    minimum: float
    maximum: float
    interval: tuple[float, float] | None  # None: too few values for the stated confidence
    confidence: float
    warnings: tuple[str, ...] = ()
