"""Where the time of a cycle goes, a bar per launch and source, beside what verify and cycle may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tokgate.records import Verdict
from tokgate.records.phases import Phase, PhaseReading, PhaseTable
from tokgate.report.arithmetic import Arithmetic
from tokgate.report.figures import NONE
from tokgate.report.verdict_file import VerdictFile
from tokgate.stats.phases import together
from tokgate.stats.ranks import slowest

from .drawing import Axis, Figure, Line, Panel, Tick, Tone, Trace, View, lean, word

# From the bottom: the budget is that of verify, so verify stands on the axis.
ORDER: tuple[tuple[Phase, Tone], ...] = (
    (Phase.VERIFY, "line-0"),
    (Phase.DRAFT, "line-1"),
    (Phase.DRAFT_EXTEND, "line-2"),
    (Phase.REST, "line-3"),
    (Phase.DECODE, "soft"),
)
_NAMES = {
    Phase.VERIFY: "verify",
    Phase.DRAFT: "draft",
    Phase.DRAFT_EXTEND: "draft_extend",
    Phase.REST: "rest",
    Phase.DECODE: "decode step of the control",
}
_HALF = 0.42  # of the place of a bar, for lines that belong to it
COLUMNS = ("launch", "workload", "source", *(f"{name} ms" for name in list(_NAMES.values())[:4]), "sum ms")


class Bar(NamedTuple):
    launch: str
    arm: str
    source: str
    parts: Mapping[Phase, PhaseReading]
    rank: int | None

    @property
    def whole(self) -> float:
        return sum(r.mean_ms for r in self.parts.values())


class Limit(NamedTuple):
    ms: float
    label: str
    tone: Tone
    dash: int


def cycle(file: VerdictFile) -> Figure:
    arms = {launch.launch: launch.arm for launch in file.launches}
    workloads = dict.fromkeys(
        r.workload for t in file.phases for r in t.readings if r.source != "cycle" and r.workload is not None
    )
    found = {w: [bar for t in file.phases for bar in _bars(t, w, arms.get(t.launch, ""))] for w in workloads}
    views = tuple(_view(file, w, bars) for w, bars in found.items() if bars)
    if not views:
        why = "; ".join(
            f"{t.launch}, {source}: {why}" for t in file.phases for source, why in t.unknown.items()
        )
        told = f" {why}" if why else " No launch carried instruments."
        return Figure(
            id="cycle", title="Phases of a cycle", says=(word(f"No phase of a cycle is known.{told}", 600),)
        )
    return Figure(
        id="cycle",
        title="Phases of a cycle",
        says=tuple(v.says for v in views),
        notes=(
            (
                "Mean milliseconds a call, by source; of several ranks the one whose verify takes longest. Verify stands at the bottom, so that its "
                "budget is a height above 0; the break-even of the whole cycle is a height of the whole bar. Such launches are never counted for throughput."
            ),
        ),
        choices=("workload",),
        views=views,
        columns=COLUMNS,
        rows=tuple(_row(w, bar) for w, bars in found.items() for bar in bars),
    )


def limits(file: VerdictFile, arm: str, workload: str) -> tuple[Limit, ...]:
    """Return what verify of an arm may take: the limits its verdicts judged by, else what break-even leaves."""
    found: dict[float, Limit] = {}
    for v in file.verdicts:
        if _budget(v, arm, workload) and v.reference is not None and v.reference.value is not None:
            words = f"verify budget of {arm}, {v.reference.label}: {v.reference.value:.2f} ms"
            found.setdefault(v.reference.value, Limit(v.reference.value, word(words), "bad", 1 + len(found)))
    left = next((a.verify_at_most_ms for a in _of(file.arithmetic, arm, workload)), None)
    if left is not None and not any("break-even" in limit.label for limit in found.values()):
        words = f"verify of {arm} that breaks even: {left:.2f} ms"
        found.setdefault(left, Limit(left, word(words), "bad", 1 + len(found)))
    return tuple(found.values())


def _budget(v: Verdict, arm: str, workload: str) -> bool:
    return (
        v.metric == "verify_ms"
        and (v.arm, v.workload) == (arm, workload)
        and v.reference is not None
        and v.reference.kind == "budget"
    )


def _of(rows: Sequence[Arithmetic], arm: str, workload: str) -> Iterator[Arithmetic]:
    return (a for a in rows if (a.arm, a.workload) == (arm, workload))


def _bars(table: PhaseTable, workload: str, arm: str) -> Iterator[Bar]:
    mine = [r for r in table.readings if r.workload == workload and r.requests is None]
    for source in dict.fromkeys(r.source for r in mine):
        of_it = [r for r in mine if r.source == source]
        if source == "cycle":
            # A plain arm has one phase, and it is the measure of all cycles; a cycle by itself tells no phase.
            step = next((r for r in of_it if r.phase is Phase.DECODE), None)
            if step is not None:
                yield Bar(table.launch, arm, "wall time", {Phase.DECODE: step}, None)
            continue
        first = slowest([r for r in of_it if r.phase is Phase.VERIFY])
        if first is None:
            continue
        parts = {phase: r for phase, _ in ORDER[:4] if (r := together(of_it, phase, first)) is not None}
        yield Bar(table.launch, arm, f"{source} ({first.clock})", parts, first.rank)


def _view(file: VerdictFile, workload: str, bars: Sequence[Bar]) -> View:
    x = tuple(float(i) for i in range(len(bars)))
    traces = tuple(
        Trace(
            label=_NAMES[phase],
            tone=tone,
            draw="bars",
            x=x,
            y=tuple(lean(bar.parts[phase].mean_ms) if phase in bar.parts else None for bar in bars),
            facts={
                "launch": tuple(word(f"{bar.launch}, {bar.source}{_ranked(bar)}") for bar in bars),
                "calls": tuple(str(bar.parts[phase].n) if phase in bar.parts else NONE for bar in bars),
                "of": tuple(f"{bar.whole:.2f} ms together" for bar in bars),
            },
        )
        for phase, tone in ORDER
        if any(phase in bar.parts for bar in bars)
    )
    lines: list[Line] = []
    for arm in dict.fromkeys(bar.arm for bar in bars if Phase.VERIFY in bar.parts):
        places = [i for i, bar in enumerate(bars) if bar.arm == arm and Phase.VERIFY in bar.parts]
        around = {"first": min(places) - _HALF, "last": max(places) + _HALF}
        lines += [
            Line(way="y", at=lean(b.ms), label=b.label, tone=b.tone, dash=b.dash, **around)
            for b in limits(file, arm, workload)
        ]
        for row in _of(file.arithmetic, arm, workload):
            if row.break_even_cycle_ms is not None:
                words = f"break-even of a whole cycle of {arm}: {row.break_even_cycle_ms:.2f} ms"
                lines.append(
                    Line(
                        way="y",
                        at=lean(row.break_even_cycle_ms),
                        label=word(words),
                        tone="open",
                        dash=0,
                        **around,
                    )
                )
    return View(
        chosen=(word(workload),),
        says=_says(file, workload, bars),
        panels=(
            Panel(
                title="",
                x=Axis(
                    label="launch and source",
                    ticks=tuple(
                        Tick(
                            at=i,
                            label=f"{word(bar.launch, 40)}\n{word(bar.source, 40)}",
                            short=f"{word(bar.launch.partition('-')[0], 6)}\n{word(bar.source.partition(' ')[0].removeprefix('device-'), 14)}",
                        )
                        for i, bar in enumerate(bars)
                    ),
                    low=-0.6,
                    high=len(bars) - 0.4,
                ),
                y=Axis(label="mean time a call, lower is better", unit="ms", digits=2, low=0),
                traces=traces,
                lines=tuple(lines),
                height=300,
            ),
        ),
    )


def _ranked(bar: Bar) -> str:
    return "" if bar.rank is None else f", rank {bar.rank}"


def _says(file: VerdictFile, workload: str, bars: Sequence[Bar]) -> str:
    told = []
    for arm in dict.fromkeys(bar.arm for bar in bars if Phase.VERIFY in bar.parts):
        row = next(_of(file.arithmetic, arm, workload), None)
        if row is None or row.cycle_ms is None or row.break_even_cycle_ms is None:
            bar = next(b for b in bars if b.arm == arm and Phase.VERIFY in b.parts)
            told.append(f"{arm}: verify {bar.parts[Phase.VERIFY].mean_ms:.2f} of {bar.whole:.2f} ms")
            continue
        side = "below" if row.cycle_ms <= row.break_even_cycle_ms else "ABOVE"
        verify = f"verify {row.verify_ms:.2f} ms of " if row.verify_ms is not None else ""
        told.append(
            f"{arm}: {verify}a cycle of {row.cycle_ms:.2f} ms, {side} its break-even of {row.break_even_cycle_ms:.2f} ms"
        )
    return word(f"{workload}: {'; '.join(told)}.", 600)


def _row(workload: str, bar: Bar) -> tuple[str, ...]:
    def cell(phase: Phase) -> str:
        return f"{bar.parts[phase].mean_ms:.3f}" if phase in bar.parts else NONE

    plain = Phase.DECODE in bar.parts
    return (
        word(bar.launch),
        word(workload),
        f"{bar.source}{_ranked(bar)}{', a decode step' if plain else ''}",
        *(cell(phase) for phase, _ in ORDER[:4]),
        f"{bar.whole:.3f}",
    )
