"""How long single verify calls took: the share of calls that took at most so long, beside p50, p95 and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokgate.records import RunEvidence
from tokgate.records.phases import Phase, PhaseReading
from tokgate.report.figures import NONE
from tokgate.report.verdict_file import VerdictFile
from tokgate.stats.phases import SHARES
from tokgate.stats.ranks import slowest

from .cycle import limits
from .drawing import LINES, MARKS, Axis, Figure, Line, Panel, Tone, Trace, View, lean, leans, word

COLUMNS = ("launch", "workload", "calls", "shortest ms", "p50 ms", "p95 ms", "p99 ms", "longest ms")
_P50, _P95, _P99 = SHARES.index(0.5), SHARES.index(0.95), SHARES.index(0.99)


class Calls(NamedTuple):
    launch: str
    arm: str
    reading: PhaseReading


def verify(file: VerdictFile, evidence: RunEvidence) -> Figure:
    found = list(_calls(evidence))
    workloads = dict.fromkeys(c.reading.workload or NONE for c in found)
    views = tuple(_view(file, w, [c for c in found if (c.reading.workload or NONE) == w]) for w in workloads)
    if not views:
        return Figure(
            id="verify",
            title="Verify latency",
            says=(
                "No single verify call was timed: no launch carried the probe, or it told nothing (the table of phases says why).",
            ),
        )
    return Figure(
        id="verify",
        title="Verify latency",
        says=tuple(v.says for v in views),
        notes=(
            (
                f"A curve is the share of the calls of one launch that took at most so long, at {len(SHARES)} shares from the shortest "
                "call to the longest; of several ranks the one whose calls take longest. The marks are p50 and p95 over all calls. A "
                "verdict on verify has the median over starts instead, and a server with two modes shows as two steps."
            ),
        ),
        choices=("workload",),
        views=views,
        columns=COLUMNS,
        rows=tuple(_row(c) for c in found),
    )


def _calls(evidence: RunEvidence) -> Iterator[Calls]:
    for e in evidence.launches:
        readings = e.phases.readings if e.phases is not None else ()
        mine = [r for r in readings if r.phase is Phase.VERIFY and r.quantiles_ms]
        for workload in dict.fromkeys(r.workload for r in mine):
            longest = slowest([r for r in mine if r.workload == workload])
            if longest is not None:
                yield Calls(e.launch.id, e.launch.arm, longest)


def _view(file: VerdictFile, workload: str, calls: Sequence[Calls]) -> View:
    traces: list[Trace] = []
    for i, c in enumerate(calls):
        tone: Tone = LINES[i % len(LINES)]
        q = c.reading.quantiles_ms
        shares = tuple(lean(100 * s) for s in SHARES)
        label = word(f"{c.launch}{_ranked(c.reading)}, {c.reading.clock} clock")
        traces += [
            Trace(
                label=label,
                tone=tone,
                draw="steps",
                x=tuple(lean(v) for v in q),
                y=shares,
                mark="none",
                dash=i,
                note=f"{c.reading.n} calls",
            ),
            Trace(
                label=f"{label}: p50 and p95",
                tone=tone,
                draw="points",
                x=(lean(q[_P50]), lean(q[_P95])),
                y=leans((50, 95)),
                facts={"is": ("p50", "p95")},
                mark=MARKS[i % len(MARKS)],
                note=f"{q[_P50]:.2f} and {q[_P95]:.2f} ms",
            ),
        ]
    lines = [
        Line(way="x", at=lean(limit.ms), label=limit.label, tone=limit.tone, dash=limit.dash)
        for arm in dict.fromkeys(c.arm for c in calls)
        for limit in limits(file, arm, workload)
    ]
    return View(
        chosen=(word(workload),),
        says=_says(file, workload, calls),
        panels=(
            Panel(
                title="",
                x=Axis(label="a verify call", unit="ms", digits=2, log=True),
                y=Axis(label="of the calls took at most so long", unit="%", digits=1, low=0, high=100),
                traces=tuple(traces),
                lines=tuple(lines),
            ),
        ),
    )


def _ranked(reading: PhaseReading) -> str:
    return "" if reading.rank is None else f", rank {reading.rank}"


def _says(file: VerdictFile, workload: str, calls: Sequence[Calls]) -> str:
    told = []
    for c in calls:
        q = c.reading.quantiles_ms
        words = (
            f"{c.launch}: p50 {q[_P50]:.2f}, p95 {q[_P95]:.2f}, longest {q[-1]:.2f} ms of {c.reading.n} calls"
        )
        allowed = [limit.ms for limit in limits(file, c.arm, workload)]
        if allowed:
            over = 1 - max(
                (share for share, v in zip(SHARES, q, strict=True) if v <= min(allowed)), default=0
            )
            share = "none" if q[-1] <= min(allowed) else "all" if q[0] > min(allowed) else f"about {over:.1%}"
            words += f"; {share} of them above the tightest limit, {min(allowed):.2f} ms"
        told.append(words)
    return word(f"{workload}: {'; '.join(told)}.", 600)


def _row(c: Calls) -> tuple[str, ...]:
    q = c.reading.quantiles_ms
    cells = (f"{v:.3f}" for v in (q[0], q[_P50], q[_P95], q[_P99], q[-1]))
    return (
        word(f"{c.launch}{_ranked(c.reading)}"),
        word(c.reading.workload or NONE),
        str(c.reading.n),
        *cells,
    )
