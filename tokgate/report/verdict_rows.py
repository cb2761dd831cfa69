"""Verdicts as the text cells that the HTML and markdown tables share; nothing here is escaped yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokgate.records import Difference, Outcome, Verdict

from . import figures
from .conclusion import word_of
from .figures import NONE
from .kept import Together, together
from .leading import TWIN
from .series import Series
from .verdict_file import Differing, VerdictFile

_MOST_NAMES = 3
_FEWEST_TOGETHER = 3


@dataclass(frozen=True)
class VerdictRow:
    verdict: Verdict
    outcome: str  # or "note": measured, and no limit set
    kept: bool  # pass, improved or note
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
    by_metric: dict[str, list[Series]] = {}
    for series in file.series:
        by_metric.setdefault(series.metric, []).append(series)
    return tuple(_row(verdict, by_metric.get(verdict.metric or "", ())) for verdict in file.verdicts)


@dataclass(frozen=True)
class RowGroup:
    group: Together
    rows: tuple[VerdictRow, ...]


def row_groups(file: VerdictFile, *, least: int = _FEWEST_TOGETHER) -> tuple[RowGroup, ...]:
    """Return the rows in order, `least` passes of one check or more together; a speed-up always stands alone."""
    rows = {id(row.verdict): row for row in verdict_rows(file)}
    groups = together(file.verdicts, least=least, never=(TWIN,))
    return tuple(RowGroup(group, tuple(rows[id(v)] for v in group.verdicts)) for group in groups)


@dataclass(frozen=True)
class DifferenceRow:
    difference: Difference
    checks: str
    references: str


def difference_rows(file: VerdictFile) -> tuple[DifferenceRow, ...]:
    """Return what differs from any reference, each difference once, with whose verdicts it stands beside."""
    found: dict[tuple[str, str | None, str | None], list[Differing]] = {}
    for d in file.differences:
        found.setdefault((d.difference.key, d.difference.before, d.difference.now), []).append(d)
    return tuple(
        DifferenceRow(
            difference=beside[0].difference,
            checks=_listed(d.check for d in beside),
            references=_listed(d.reference for d in beside if d.reference is not None),
        )
        for beside in found.values()
    )


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f", {len(distinct) - _MOST_NAMES} more" if len(distinct) > _MOST_NAMES else ""
    return ", ".join(distinct[:_MOST_NAMES]) + more or NONE


def _row(verdict: Verdict, series: Sequence[Series]) -> VerdictRow:
    reference = verdict.reference
    value = verdict.value
    return VerdictRow(
        verdict=verdict,
        outcome=word_of(verdict),
        kept=verdict.outcome in (Outcome.PASS, Outcome.IMPROVED),
        check=verdict.check,
        launch=verdict.launch or verdict.arm or NONE,
        workload=verdict.workload or NONE,
        metric=verdict.metric or NONE,
        value=NONE if value is None else figures.quantity(value, verdict.unit, verdict.metric),
        reference=NONE if reference is None else _reference(reference.value, verdict),
        reference_label="" if reference is None else f"{reference.kind}: {reference.label}",
        change=NONE if verdict.change is None else figures.percent(verdict.change),
        interval=NONE if verdict.interval is None else figures.interval(verdict),
        floor=verdict.floor or NONE,
        n=str(verdict.n) if verdict.n else NONE,
        source=_source(verdict, series),
    )


def _reference(value: float | None, verdict: Verdict) -> str:
    """The unit stands beside the value; a share of steps has it in the number."""
    if value is not None and verdict.unit == figures.OF_STEPS:
        return figures.quantity(value, verdict.unit).removesuffix(" of steps")
    return figures.optional(value, verdict.metric)


def _source(verdict: Verdict, series: Sequence[Series]) -> str:
    """Return what the samples behind a verdict, `series` of its metric, were computed from; their files where there are none."""
    sources = dict.fromkeys(
        source
        for s in series
        if verdict.workload in (None, s.workload)
        and verdict.launch in (None, s.launch)
        and verdict.arm in (None, s.arm)
        for source in s.sources
    )
    return "; ".join(sources) or ", ".join(verdict.raw) or NONE
