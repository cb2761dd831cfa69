"""What the cards and the host did while they were measured, with the windows of every workload marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import LaunchEvidence, RunEvidence
from tokgate.records.telemetry import Curve, HeldBack, Quantity, Window
from tokgate.report.telemetry import WatchedLaunch, line_of
from tokgate.report.verdict_file import VerdictFile
from tokgate.stats.thin import WORDS as THINNED
from tokgate.stats.thin import thinned
from tokgate.verdicts.window import SLOWED

from .drawing import LINES, Axis, Band, Figure, Line, Panel, Trace, View, lean, word

# Of the whole figure: some 8 bytes each in the page.
MOST_POINTS = 16_000
_FEWEST_A_CURVE = 3  # lowest, middle, highest
_PLACES = 4  # of a minute: 6 ms
_BREAK = 0.0001  # behind the last value before a break
_MOST_BANDS = 200  # of a card held back
_SCALE = {"memory_mib": 1 / 1024, "host_busy": 100.0}
_AXES: dict[Quantity, Axis] = {
    "sm_mhz": Axis(label="SM clock", unit="MHz", digits=0),
    "watts": Axis(label="power of a card", unit="W", digits=0),
    "celsius": Axis(label="temperature", unit="°C", digits=0),
    "memory_mib": Axis(label="memory of compute processes", unit="GiB", digits=2, low=0),
    "host_busy": Axis(label="host, share of all cores busy", unit="%", digits=1, low=0, high=100),
}
COLUMNS = ("launch", "while it was measured")


def machine(file: VerdictFile, evidence: RunEvidence) -> Figure:
    watched = [e for e in evidence.launches if e.curves.curves]
    told = {w.launch: w for w in file.telemetry}
    if not watched:
        return Figure(
            id="machine",
            title="The machine while it was measured",
            says=("Nobody watched the machine: no launch has telemetry.",),
        )
    rows = tuple((word(w.launch), word(line_of(w), 600)) for w in file.telemetry)
    if file.fleet is not None:
        # "GPU 0" is a card of each of them, and their clocks count from different boots.
        return Figure(
            id="machine",
            title="The machine while it was measured",
            says=("Several hosts: the page of each draws its own cards and clocks. The table tells of all.",),
            columns=COLUMNS,
            rows=rows,
        )
    origin = min(c.at_ns[0] for e in watched for c in e.curves.curves)
    curves = [c for e in watched for c in e.curves.curves]
    most = max(_FEWEST_A_CURVE, MOST_POINTS // len(curves))
    bands = tuple(_bands(watched, origin))
    lines = tuple(_launch_edges(watched, origin))
    end = max(c.at_ns[-1] for c in curves)
    x = Axis(label="since the first look", unit="min", digits=2, low=0, high=lean(_minutes(end, origin)))
    panels: list[Panel] = []
    for quantity, y in _AXES.items():
        of_it = sorted(
            {c.gpu for c in curves if c.quantity == quantity}, key=lambda g: -1 if g is None else g
        )
        traces = tuple(_trace(watched, quantity, gpu, origin, most) for gpu in of_it)
        if traces:
            panels.append(
                Panel(
                    title="",
                    x=x,
                    y=y,
                    traces=traces,
                    lines=() if panels else lines,
                    bands=() if panels else bands,
                    shares=bool(panels),
                    height=190 if quantity == "sm_mhz" else 150,
                )
            )
    drawn = sum(len(t.y) for p in panels for t in p.traces)
    whole = sum(c.n for c in curves)
    return Figure(
        id="machine",
        title="The machine while it was measured",
        says=tuple(_says(watched, told)),
        notes=(
            (
                "A line is a card; a shaded stretch is a workload from its first request to its last byte, warm-ups left out; a coloured one "
                "a card that was held back. Nothing is drawn between launches: nobody looks there."
            ),
            (
                f"{drawn} points draw {whole} readings: of equal neighbours the two ends, and beyond that {THINNED}. "
                "launches/*/telemetry.jsonl has every one."
            ),
        ),
        views=(View(chosen=(), panels=tuple(panels), says=""),),
        columns=COLUMNS,
        rows=rows,
    )


def _minutes(at_ns: int, origin: int) -> float:
    return (at_ns - origin) / 60e9


def _trace(
    watched: Sequence[LaunchEvidence], quantity: Quantity, gpu: int | None, origin: int, most: int
) -> Trace:
    """Put a card's curves of all launches one behind the other, apart."""
    x: list[float] = []
    y: list[float | None] = []
    scale = _SCALE.get(quantity, 1.0)
    for e in watched:
        for c in e.curves.curves:
            if (c.quantity, c.gpu) != (quantity, gpu):
                continue
            if x:
                x.append(x[-1] + _BREAK)
                y.append(None)
            for at, value in _leaner(c, most):
                x.append(round(_minutes(at, origin), _PLACES) if value is not None else x[-1] + _BREAK)
                y.append(None if value is None else lean(round(value * scale, 3)))
    label = "host" if gpu is None else f"GPU {gpu}"
    number = 0 if gpu is None else gpu
    # Eight colours, then the same with another dash: more cards than that are told apart by the tooltip.
    return Trace(
        label=label,
        tone="soft" if gpu is None else LINES[number % len(LINES)],
        draw="line",
        x=tuple(round(v, _PLACES) for v in x),
        y=tuple(y),
        mark="none",
        dash=number // len(LINES) + number % 2,
    )


def _leaner(curve: Curve, most: int) -> Iterator[tuple[int, float | None]]:
    """Yield the points of a curve, thinned once more where the whole session has too many; its breaks stay."""
    piece: list[tuple[int, float]] = []
    known = sum(v is not None for v in curve.values)
    for at, value in (*zip(curve.at_ns, curve.values, strict=True), (-1, None)):
        if value is not None:
            piece.append((at, value))
            continue
        yield from (
            piece[i] for i in thinned([v for _, v in piece], max(3, most * len(piece) // max(1, known)))
        )
        piece = []
        if at >= 0:
            yield at, None


def _bands(watched: Sequence[LaunchEvidence], origin: int) -> Iterator[Band]:
    for e in watched:
        for workload, begin, end in _stretches([w for w in e.windows if not w.warmup]):
            yield Band(
                way="x",
                low=lean(_minutes(begin, origin)),
                high=lean(_minutes(end, origin)),
                label=word(f"{e.launch.id}, {workload}"),
                tone="soft",
                tag=word(workload, 24),
                quiet=True,
            )
    held = [(e, h) for e in watched for h in e.curves.held_back]
    for e, h in held[:_MOST_BANDS]:
        yield Band(
            way="x",
            low=lean(_minutes(h.from_ns, origin)),
            high=lean(_minutes(h.to_ns, origin)),
            label=word(f"{e.launch.id}, GPU {h.gpu}: {_reason(h)}"),
            tone="bad" if h.reason in SLOWED else "open",
            quiet=True,
        )


def _stretches(windows: Sequence[Window]) -> list[tuple[str, int, int]]:
    """Return windows of one workload that follow each other as one: its name, begin and end."""
    found: list[tuple[str, int, int]] = []
    for w in windows:
        if found and found[-1][0] == w.workload:
            found[-1] = (w.workload, found[-1][1], max(found[-1][2], w.end_ns))
        else:
            found.append((w.workload, w.start_ns, w.end_ns))
    return found


def _launch_edges(watched: Sequence[LaunchEvidence], origin: int) -> Iterator[Line]:
    for e in watched:
        begin = min(c.at_ns[0] for c in e.curves.curves)
        yield Line(
            way="x",
            at=lean(_minutes(begin, origin)),
            label=word(f"{e.launch.id} begins"),
            tone="soft",
            dash=1,
            quiet=True,
        )


def _reason(held: HeldBack) -> str:
    return held.reason if held.reason in SLOWED else f"{held.reason} (no fault by itself)"


def _says(watched: Sequence[LaunchEvidence], told: dict[str, WatchedLaunch]) -> Iterator[str]:
    held = [(e.launch.id, h) for e in watched for h in e.curves.held_back if h.reason in SLOWED]
    if held:
        cards = sorted({h.gpu for _, h in held})
        reasons = " and ".join(sorted({h.reason for _, h in held}))
        where = ", ".join(dict.fromkeys(launch for launch, _ in held))
        yield word(f"Held back by {reasons}: GPU {', '.join(map(str, cards))} in {where}.", 400)
    elif any(c.gpu is not None for e in watched for c in e.curves.curves):
        yield "No card was held back by heat or hardware."
    hot = [
        v
        for e in watched
        for c in e.curves.curves
        if c.quantity == "celsius"
        for v in c.values
        if v is not None
    ]
    clocks = [
        v
        for e in watched
        for c in e.curves.curves
        if c.quantity == "sm_mhz"
        for v in c.values
        if v is not None
    ]
    parts = [f"SM clock {min(clocks):.0f} to {max(clocks):.0f} MHz"] if clocks else []
    parts += [f"at most {max(hot):.0f} °C"] if hot else []
    others = sorted({p for w in told.values() for one in w.workloads for p in one.strangers or ()})
    parts += [f"other processes computed too: pid {', '.join(map(str, others))}"] if others else []
    if parts:
        yield word(
            f"{'; '.join(parts)}, over {len(watched)} {'launch' if len(watched) == 1 else 'launches'}.", 400
        )
