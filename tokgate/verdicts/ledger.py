"""What a baseline remembers of its past: what the first accepted one measured, and every level accepted since."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Protocol

from pydantic import Field, FiniteFloat

from tokgate.records.record import Record
from tokgate.stats.levels import RunValues

from .metrics import METRICS, Metric

# No measurement is that small or large, and beyond them sums and ratios of values are no numbers any more.
Value = Annotated[FiniteFloat, Field(ge=1e-12, le=1e12)]
Count = Annotated[int, Field(ge=1, lt=2**31)]


class Level(Record):
    """One metric, as one version of a baseline measured it."""

    value: Value  # in the metric's unit: what its sessions have in the middle
    sessions: Count
    runs: Count  # server runs
    starts: Count  # barrier starts


class Anchored(Level):
    """What the first accepted baseline measured: it stays when the samples are replaced."""

    when: str  # ISO 8601, UTC
    why: str
    session_ids: tuple[str, ...] = ()


class Accepted(Record):
    """One decision since the anchor."""

    when: str
    who: str
    why: str
    levels: dict[str, Level]  # per metric, of what was stored by it
    despite_creep: str | None = None  # why a loss beyond the creep budget was accepted


class Stored(Protocol):
    """What is needed of a stored server run."""

    @property
    def run_id(self) -> str: ...
    @property
    def launch(self) -> str: ...
    def values(self, metric: str) -> tuple[tuple[float, ...], ...]: ...


def run_values(launches: Iterable[Stored], metric: str) -> tuple[RunValues, ...]:
    """Return a metric's values of every server run that has some, one value a barrier start: the median of its streams."""
    return tuple(
        RunValues(
            session=one.run_id,
            launch=one.launch,
            values=tuple(statistics.median(start) for start in one.values(metric)),
        )
        for one in launches
        if one.values(metric)
    )


def level_of(runs: Sequence[RunValues], metric: Metric) -> Level | None:
    """Return the mean over sessions of the mean over their runs of the median over starts; None without a run.

    On logarithms where the metric is compared as a ratio: what stats/decide.py has as `before`.
    """
    if not runs:
        return None
    ratio = metric.scale == "ratio"
    ordered = sorted(runs, key=lambda run: run.session)
    sessions = [
        statistics.fmean(statistics.median(_scaled(v, ratio=ratio) for v in run.values) for run in members)
        for _, members in groupby(ordered, key=lambda run: run.session)
    ]
    middle = statistics.fmean(sessions)
    return Level(
        value=math.exp(middle) if ratio else middle,
        sessions=len(sessions),
        runs=len(runs),
        starts=sum(len(run.values) for run in runs),
    )


def levels_of(launches: Sequence[Stored]) -> dict[str, Level]:
    """Return the level of every metric that these runs have."""
    found = ((name, level_of(run_values(launches, name), metric)) for name, metric in METRICS.items())
    return {name: level for name, level in found if level is not None}


def anchors_of(
    levels: Mapping[str, Level], *, when: str, why: str, sessions: Sequence[str]
) -> dict[str, Anchored]:
    return {
        name: Anchored(**level.model_dump(), when=when, why=why, session_ids=tuple(sessions))
        for name, level in levels.items()
    }


def _scaled(value: float, *, ratio: bool) -> float:
    return math.log(value) if ratio else value
