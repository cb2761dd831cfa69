"""Where a session tells how far it is."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Protocol

from tokgate.records import Generation
from tokgate.records.progress import ProgressEvent


class Progress(Protocol):
    """Something that hears events. It is called between windows of measurement, must be quick, and raises nothing."""

    def __call__(self, event: ProgressEvent, /) -> None: ...


def unheard(_event: ProgressEvent, /) -> None:
    """Where nobody listens."""


def rate_of(generations: Sequence[Generation]) -> float | None:
    """Return the median decode rate of these streams as the server tells it, in tok/s; None: it does not."""
    rates = [
        g.counters.decode_throughput
        for g in generations
        if g.good and g.counters is not None and g.counters.decode_throughput
    ]
    return statistics.median(rates) if rates else None


def accept_length_of(generations: Sequence[Generation]) -> float | None:
    """Return the mean accept length of these generations; None without speculation or where it is not told."""
    lengths = [
        g.counters.spec.accept_length
        for g in generations
        if g.good and g.counters is not None and g.counters.spec is not None and g.counters.spec.accept_length
    ]
    return statistics.fmean(lengths) if lengths else None
