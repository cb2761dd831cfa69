"""Throughput of all streams together by concurrency, with and without speculation, and where it stops winning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import RunEvidence
from tokgate.report import figures
from tokgate.report.arms import Starts, starts_of
from tokgate.report.gain import COLUMNS, Gain, rows, sentences, word
from tokgate.report.verdict_file import VerdictFile
from tokgate.stats.crossover import Level
from tokgate.stats.summary import summarise

from .drawing import Axis, Band, Figure, Line, Panel, Tick, Trace, View, lean, leans
from .drawing import word as shown
from .roles import CONTROLS

_METRIC = "total_tok_s"
_MARGIN = 0.35  # of a doubling, on either side


def concurrency(file: VerdictFile, evidence: RunEvidence) -> Figure:
    starts = starts_of(evidence)
    gains = [g for g in file.gains if g.gain.levels]
    views = tuple(_view(file, g, starts) for g in gains)
    told = [shown(words, 600) for words, _ in sentences(file.gains)]
    single = [g for g in gains if len(g.gain.levels) == 1]
    notes = [
        (
            "Above, tokens a second of all streams together, medians over barrier starts with their 95 % interval. Below, the same as a "
            "ratio to the control, as the check on the twin compares it: of one stream at 1, of all together beyond. Speculation wins "
            "above 1. Nothing is said beyond the levels measured."
        ),
        *(shown(f"{g.arm}: {w}", 400) for g in gains for w in g.warnings),
        *(
            shown(
                f"{g.arm} was compared at a concurrency of {g.gain.levels[0].concurrency} alone: one level has no crossover.",
                300,
            )
            for g in single
        ),
    ]
    if not told:
        told = ["Nothing was compared with a twin: there is no crossover to look for."]
    return Figure(
        id="concurrency",
        title="Throughput by concurrency",
        says=tuple(told),
        notes=tuple(notes) if views else (),
        choices=("arm",),
        views=views,
        columns=COLUMNS if views else (),
        rows=tuple(tuple(shown(c) for c in row) for row in rows(gains)),
    )


def _view(file: VerdictFile, gain: Gain, starts: Starts) -> View:
    levels = sorted(gain.gain.levels, key=lambda level: level.concurrency)
    places = {level.concurrency: math.log2(level.concurrency) for level in levels}
    x = Axis(
        label="streams at once",
        ticks=tuple(Tick(at=lean(at), label=str(c)) for c, at in places.items()),
        low=min(places.values()) - _MARGIN,
        high=max(places.values()) + _MARGIN,
    )
    crossing = tuple(_crossing(gain, places))
    says = next(shown(words, 600) for words, _ in sentences([gain]))
    series = ", ".join(gain.workloads[level.concurrency] for level in levels)
    return View(
        chosen=(shown(f"{gain.arm}: {series}"),),
        says=says,
        panels=(
            Panel(
                title="all streams together",
                x=x,
                y=Axis(label="throughput, higher is better", unit="tok/s", digits=1, low=0),
                traces=tuple(_throughput(file, gain, levels, places, starts)),
                bands=crossing,
            ),
            Panel(
                title="against the control",
                x=x,
                y=Axis(label="speed-up", digits=3),
                traces=(_speed_up(gain, levels, places),),
                lines=(Line(way="y", at=1, label="as fast as the control", tone="soft", dash=1),),
                bands=tuple(b.model_copy(update={"quiet": True}) for b in crossing),
                height=190,
            ),
        ),
    )


def _throughput(
    file: VerdictFile, gain: Gain, levels: Sequence[Level], places: Mapping[int, float], starts: Starts
) -> Iterator[Trace]:
    mine = [e.launch for e in file.launches if e.arm == gain.arm and e.role == "arm"]
    control = [e.launch for e in file.launches if e.role in CONTROLS]
    for label, launches, is_arm in (
        (gain.arm, mine, True),
        ("control, before and after together", control, False),
    ):
        points = []
        for level in levels:
            workload = gain.workloads[level.concurrency]
            told = [v for launch in launches for v in starts.get((launch, workload, _METRIC), ())]
            if values := [v for v in told if math.isfinite(v)]:
                points.append((places[level.concurrency], summarise(values), workload))
        if not points:
            continue
        yield Trace(
            label=shown(label),
            tone="arm" if is_arm else "control",
            draw="intervals",
            x=tuple(lean(at) for at, _, _ in points),
            y=leans(s.median for _, s, _ in points),
            low=leans(s.interval[0] if s.interval else None for _, s, _ in points),
            high=leans(s.interval[1] if s.interval else None for _, s, _ in points),
            facts={
                "workload": tuple(shown(w) for _, _, w in points),
                "starts": tuple(str(s.n) for _, s, _ in points),
            },
            mark="triangle" if is_arm else "circle",
            dash=0 if is_arm else 1,
            note=", ".join(figures.quantity(s.median, "tok/s", _METRIC) for _, s, _ in points),
        )


def _speed_up(gain: Gain, levels: Sequence[Level], places: Mapping[int, float]) -> Trace:
    return Trace(
        label=shown(f"speed-up of {gain.arm}"),
        tone="arm",
        draw="intervals",
        x=tuple(lean(places[level.concurrency]) for level in levels),
        y=leans(level.ratio for level in levels),
        low=leans(level.interval[0] if level.interval else None for level in levels),
        high=leans(level.interval[1] if level.interval else None for level in levels),
        facts={
            "so it": tuple(word(level) for level in levels),
            "of": tuple(
                "one stream" if gain.metrics[level.concurrency] == "decode_tok_s" else "all streams together"
                for level in levels
            ),
            "workload": tuple(shown(gain.workloads[level.concurrency]) for level in levels),
        },
        mark="triangle",
        note=", ".join(f"{level.ratio:.3f} at {level.concurrency}" for level in levels),
    )


def _crossing(gain: Gain, places: Mapping[int, float]) -> Iterator[Band]:
    """Yield the stretch in which speculation stops winning, where one was measured."""
    stop, won = gain.gain.stops_at, gain.gain.wins_up_to
    if stop is None or stop not in places:
        return
    if won is None or won not in places:
        label, low = f"loses from {stop} on, the first level decided", places[stop] - _MARGIN / 2
    else:
        label, low = f"crossover: wins at {won}, loses at {stop}", places[won]
    yield Band(way="x", low=lean(low), high=lean(places[stop]), label=label, tone="open", tag="crossover")
