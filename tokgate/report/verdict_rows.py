"""Verdicts as the text cells that the HTML and markdown tables share; nothing here is escaped yet."""

from __future__ import annotations

from dataclasses import dataclass

from tokgate.records import Outcome, Verdict

from . import figures
from .figures import NONE
from .series import Series
from .verdict_json import VerdictFile


@dataclass(frozen=True)
class VerdictRow:
    verdict: Verdict
    outcome: str
    kept: bool  # pass or improved
    check: str
    launch: str  # the arm where a verdict is about no single launch
    workload: str
    metric: str
    value: str
    reference: str
    reference_label: str
    change: str
    interval: str
    floor: str
    n: str
    source: str


def verdict_rows(file: VerdictFile) -> tuple[VerdictRow, ...]:
    """Return one row per verdict, worst first."""
    return tuple(_row(verdict, file.series) for verdict in file.verdicts)


def _row(verdict: Verdict, series: tuple[Series, ...]) -> VerdictRow:
    reference = verdict.reference
    value = verdict.value
    return VerdictRow(
        verdict=verdict,
        outcome=verdict.outcome.value,
        kept=verdict.outcome in (Outcome.PASS, Outcome.IMPROVED),
        check=verdict.check,
        launch=verdict.launch or verdict.arm or NONE,
        workload=verdict.workload or NONE,
        metric=verdict.metric or NONE,
        value=NONE if value is None else figures.quantity(value, verdict.unit, verdict.metric),
        reference=NONE if reference is None else figures.number(reference.value, verdict.metric),
        reference_label="" if reference is None else f"{reference.kind}: {reference.label}",
        change=NONE if verdict.change is None else figures.percent(verdict.change),
        interval=NONE if verdict.interval is None else figures.interval(verdict),
        floor=verdict.floor or NONE,
        n=str(verdict.n) if verdict.n else NONE,
        source=_source(verdict, series),
    )


def _source(verdict: Verdict, series: tuple[Series, ...]) -> str:
    """Return what the samples behind a verdict were computed from; their files where there are no samples."""
    sources = dict.fromkeys(
        source
        for s in series
        if s.metric == verdict.metric
        and verdict.workload in (None, s.workload)
        and verdict.launch in (None, s.launch)
        and verdict.arm in (None, s.arm)
        for source in s.sources
    )
    return "; ".join(sources) or ", ".join(verdict.raw) or NONE
