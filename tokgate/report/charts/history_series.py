"""One number of the history: its sessions, the levels that they keep, and what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tokgate.records import Outcome
from tokgate.records.verdict import Reference
from tokgate.report import figures
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.baselines.history import Measured, Point, Standing
from tokgate.verdicts.metrics import Metric

from .drawing import Axis, Line, Mark, Panel, Tick, Tone, Trace, View, axis_of, lean, leans, word

SHOWN = 150  # sessions, the latest: a chart is no wider
_TICKS = 6
_MARKS: dict[str, tuple[Mark, Tone, str]] = {
    "fit": ("circle", "arm", "session"),
    "stored": ("square", "limit", "session of the stored baseline"),
    "regressed": ("cross", "bad", "session, regressed"),
    "invalid": ("ring", "soft", "session, invalid: counts for no level"),
    "now": ("diamond", "good", "this session"),
}


@dataclass(frozen=True)
class HistorySeries:
    """One metric of one arm and workload over the sessions of its identity."""

    one: Measured
    metric: Metric
    points: tuple[Point, ...]
    standings: tuple[Standing, ...]
    reference: Reference | None  # what this session was compared with
    baseline: BaselineFile | None  # the file of it
    place_of: Mapping[str, int]  # run -> its place in the facts of the figure

    @property
    def place(self) -> str:
        return word(f"{self.one.arm}, {self.one.workload}")

    def says(self) -> str:
        last = self.standings[-1].words if self.standings else f"{self.metric.words} has kept its level"
        return word(f"{self.place}: {last} ({len(self.points)} sessions).", 400)

    def view(self) -> View:
        shown = self.points[-SHOWN:]
        return View(
            chosen=(self.place, word(f"{self.metric.words} ({self.metric.unit})")),
            says=self.says(),
            panels=(
                Panel(
                    title="",
                    x=Axis(
                        label="sessions, oldest first",
                        ticks=tuple(_ticks(shown)),
                        low=-0.6,
                        high=len(shown) - 0.4,
                    ),
                    y=axis_of(self.metric.name, self.metric.unit, log=all(p.value > 0 for p in shown)),
                    traces=tuple(self._traces(shown)),
                    lines=tuple(self._lines(shown)),
                ),
            ),
        )

    def row(self) -> tuple[str, ...]:
        stored = self.reference.value if self.reference is not None else None
        return (
            word(self.one.arm),
            word(self.one.workload),
            word(self.metric.words),
            str(len(self.points)),
            self.metric.text(self.points[-1].value),
            figures.NONE if stored is None else self.metric.text(stored),
            word(self.standings[-1].words if self.standings else "kept", 300),
        )

    def _traces(self, shown: Sequence[Point]) -> Iterator[Trace]:
        for kind, (mark, tone, label) in _MARKS.items():
            mine = [(i, p) for i, p in enumerate(shown) if self._kind(p, last=i == len(shown) - 1) == kind]
            if mine:
                yield Trace(
                    label=label,
                    tone=tone,
                    draw="points",
                    x=tuple(float(i) for i, _ in mine),
                    y=leans(p.value for _, p in mine),
                    places=tuple(self.place_of[p.run_id] for _, p in mine),
                    mark=mark,
                    note=f"{len(mine)}" if kind != "now" else self.metric.text(mine[0][1].value),
                )

    def _kind(self, point: Point, *, last: bool) -> str:
        if last:
            return "now"
        if point.outcome is Outcome.INVALID:
            return "invalid"
        if self.baseline is not None and point.run_id in self.baseline.sessions:
            return "stored"
        return "regressed" if point.outcome is Outcome.REGRESSED else "fit"

    def _lines(self, shown: Sequence[Point]) -> Iterator[Line]:
        if self.reference is not None and self.reference.value is not None:
            when = f" of {self.baseline.provenance.when[:10]}" if self.baseline is not None else ""
            yield Line(
                way="y",
                at=lean(self.reference.value),
                label=word(
                    f"stored baseline{when}: "
                    f"{self.metric.text(self.reference.value)} ({self.reference.label})"
                ),
                tone="limit",
                dash=1,
            )
        yield from _levels(self.metric, self.standings, shown)


def _levels(metric: Metric, found: Sequence[Standing], shown: Sequence[Point]) -> Iterator[Line]:
    """Yield each level as a step, and each change between two as a moment."""
    if not found:
        return
    place = {p.run_id: i for i, p in enumerate(shown)}
    begins = [place.get(s.since.run_id) for s in found]
    ends = [*begins[1:], len(shown)]
    if (first := begins[0]) is not None and first > 0:
        yield _level(metric, found[0].change.before, -0.5, first - 0.5)
    for s, begin, end in zip(found, begins, ends, strict=True):
        if end is None:
            continue  # older than what is drawn
        yield _level(metric, s.change.after, (begin or 0) - 0.5, end - 0.5)
        if begin is not None:
            words = f"change point: {s.change.change:+.1%} since run {s.since.run_id} of {s.since.started_at[:10]}"
            yield Line(way="x", at=begin - 0.5, label=word(words), tone="open", dash=2)


def _level(metric: Metric, value: float, first: float, last: float) -> Line:
    label = f"level {metric.text(value)}"
    return Line(way="y", at=lean(value), label=label, tone="open", first=first, last=last, quiet=True)


def _ticks(shown: Sequence[Point]) -> Iterator[Tick]:
    """Yield a date at every few sessions, where it is another one than the one before."""
    step = max(1, -(-len(shown) // _TICKS))
    places = list(range(0, len(shown), step))
    for before, i in pairwise([None, *places]):
        day = shown[i].started_at[:10] if i is not None else ""
        if i is not None and (before is None or shown[before].started_at[:10] != day):
            yield Tick(at=i, label=word(day, 12), short=word(day[5:], 12))
