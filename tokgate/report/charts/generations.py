"""Every generation of every launch in the order taken, beside the control before and after and the stored baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tokgate.records import Verdict
from tokgate.report import figures
from tokgate.report.arms import Starts, as_judged
from tokgate.report.series import Series, judged, metrics_of
from tokgate.report.verdict_file import VerdictFile
from tokgate.stats.thin import WORDS as THINNED
from tokgate.stats.thin import thinned

from .drawing import Axis, Band, Figure, Line, Panel, Tick, Tone, Trace, View, axis_of, lean, leans, word
from .roles import CONTROLS, WORDS, mark, tone, tones

# Of the whole figure: some 8 bytes each in the page.
MOST_POINTS = 20_000
_FEWEST_A_SERIES = 18
# Of the whole figure: each has marks, lines and words of its own, some 900 bytes.
MOST_SERIES = 300
_GAP = 0.04  # between two launches, of all places of a view
_OF_A_START = "total_tok_s"  # one value a barrier start, not one a generation
_FIRST = ("decode_tok_s", "total_tok_s", "cycle_ms", "accept_length")  # the others follow as they come


def generations(file: VerdictFile, starts: Starts | None = None) -> Figure:
    """Return the figure. `starts`: values by barrier start, as verdicts take their medians; without them, over generations."""
    every = [as_judged(s, starts or {}) for s in judged(file.series) if s.known]
    shown = _within(every)
    left = [m for m in metrics_of(every) if m not in metrics_of(shown)]
    colours = tones((s.arm, s.role) for s in shown)
    total = sum(len(s.points) for s in shown)
    most = max(_FEWEST_A_SERIES, MOST_POINTS // max(1, len(shown)))
    views = [
        _view(metric, workload, group, file.verdicts, most=most, colours=colours)
        for metric in sorted(metrics_of(shown), key=_rank)
        for workload in dict.fromkeys(s.workload for s in shown)
        if (group := [s for s in shown if (s.metric, s.workload) == (metric, workload)])
    ]
    notes = [
        (
            "Each mark is one generation, or one barrier start where the number is of all streams together, in the order taken. "
            "The line through a launch is its median over barrier starts, as in verdicts, the box its 95 % interval; the broken and the dotted line are the medians of the control before "
            "and after, the one of dashes and dots what is stored as the baseline. The axis need not begin at 0."
        )
    ]
    drawn = sum(len(t.y) for view in views for panel in view.panels for t in panel.traces)
    if drawn < sum(len(s.known) for s in shown):
        notes.append(
            f"{drawn} of {total} values are drawn: {THINNED}. Medians and intervals are of all; "
            "launches/*/generations.jsonl has every one."
        )
    if left:
        notes.append(
            f"Not drawn, since the page has room for {MOST_SERIES} series of {len(every)}: {word(', '.join(left), 400)}. "
            "verdict.json has them."
        )
    return Figure(
        id="generations",
        title="Generations per arm",
        says=tuple(v.says for v in views if v.chosen[0] == views[0].chosen[0])
        if views
        else ("No generation was measured: there is nothing to draw.",),
        notes=tuple(notes) if views else (),
        choices=("metric", "workload"),
        views=tuple(views),
    )


def _within(every: Sequence[Series]) -> list[Series]:
    """Return the series of the foremost metrics, as many as there is room for; at least those of one."""
    kept: list[Series] = []
    for metric in sorted(metrics_of(every), key=_rank):
        mine = [s for s in every if s.metric == metric]
        if kept and len(kept) + len(mine) > MOST_SERIES:
            break
        kept += mine
    return kept


def _rank(metric: str) -> tuple[int, str]:
    return (_FIRST.index(metric), "") if metric in _FIRST else (len(_FIRST), "")


def _view(
    metric: str,
    workload: str,
    group: Sequence[Series],
    verdicts: Sequence[Verdict],
    *,
    most: int,
    colours: Mapping[str, Tone],
) -> View:
    unit = group[0].unit
    wide = sum(_places(s) for s in group)
    gap = max(1.0, round(wide * _GAP))
    traces, ticks, edges = [], [], []
    lines: list[Line] = []
    bands: list[Band] = []
    at = 0.0
    for s in group:
        begin, at = at, at + _places(s) + gap
        end = at - gap - 1
        edges.append((begin, end))
        traces.append(_trace(s, begin, most, colours))
        ticks.append(
            Tick(at=(begin + end) / 2, label=word(s.launch, 40), short=word(s.launch.partition("-")[0], 6))
        )
        lines += _levels(s, begin, end, verdicts, colours)
        bands += _intervals(s, begin, end, colours)
    lines += [
        Line(way="x", at=(a[1] + b[0]) / 2, label="", tone="soft", quiet=True) for a, b in pairwise(edges)
    ]
    number = "barrier start" if metric == _OF_A_START else "generation"
    return View(
        chosen=(word(f"{figures.words(metric)} ({unit})"), word(workload)),
        says=_says(metric, workload, unit, group, verdicts),
        panels=(
            Panel(
                title="",
                x=Axis(
                    label=f"{number}s, launch by launch", ticks=tuple(ticks), low=-gap / 2, high=at - gap / 2
                ),
                y=axis_of(metric, unit, log=all(v > 0 for s in group for v in s.known)),
                traces=tuple(traces),
                lines=tuple(lines),
                bands=tuple(bands),
            ),
        ),
    )


def _places(s: Series) -> int:
    return max(p.index for p in s.points) + 1


def _trace(s: Series, begin: float, most: int, colours: Mapping[str, Tone]) -> Trace:
    known = sorted((p.index, p.value) for p in s.points if p.value is not None)
    kept = [known[i] for i in thinned([v for _, v in known], most)]
    numbers = tuple(i for i, _ in kept)
    lost = len(s.points) - len(known)
    median = figures.quantity(s.summary.median if s.summary else None, s.unit, s.metric)
    drawn = f", {len(kept)} drawn" if len(kept) < len(known) else ""
    return Trace(
        label=word(f"{s.launch} ({WORDS[s.role]})"),
        tone=tone(colours, s.arm),
        draw="points",
        y=leans(v for _, v in kept),
        x0=begin,
        numbers=() if numbers == tuple(range(len(numbers))) else numbers,
        number="barrier start" if s.metric == _OF_A_START else "generation",
        mark=mark(s.role),
        note=word(f"median {median}, n={len(known)}{f', {lost} unknown' if lost else ''}{drawn}"),
    )


def _levels(
    s: Series, begin: float, end: float, verdicts: Sequence[Verdict], colours: Mapping[str, Tone]
) -> Iterator[Line]:
    if s.summary is None:
        return
    colour = tone(colours, s.arm)
    told = figures.quantity(s.summary.median, s.unit, s.metric)
    yield Line(
        way="y",
        at=lean(s.summary.median),
        label="",
        tone=colour,
        first=begin - 0.4,
        last=end + 0.4,
        quiet=True,
    )
    if s.role in CONTROLS:
        yield Line(
            way="y",
            at=lean(s.summary.median),
            label=word(f"{WORDS[s.role]}: {told}"),
            tone=colour,
            dash=1 if s.role == "control" else 2,
        )
    if (stored := _stored(s, verdicts)) is not None:
        yield Line(
            way="y",
            at=lean(stored),
            label=word(f"stored baseline of {s.arm}: {figures.quantity(stored, s.unit, s.metric)}"),
            tone="limit",
            dash=3,
            first=begin - 0.4,
            last=end + 0.4,
        )


def _intervals(s: Series, begin: float, end: float, colours: Mapping[str, Tone]) -> Iterator[Band]:
    if s.summary is not None and s.summary.interval is not None:
        low, high = s.summary.interval
        yield Band(
            way="y",
            low=lean(low),
            high=lean(high),
            label="",
            tone=tone(colours, s.arm),
            first=begin - 0.4,
            last=end + 0.4,
            quiet=True,
        )


def _stored(s: Series, verdicts: Sequence[Verdict]) -> float | None:
    """Return the stored number that this launch was compared with."""
    for v in verdicts:
        if v.reference is None or v.reference.kind != "baseline":
            continue
        if (v.workload, v.metric) == (s.workload, s.metric) and s.launch in (v.launch, *v.launches):
            return v.reference.value
    return None


def _says(metric: str, workload: str, unit: str, group: Sequence[Series], verdicts: Sequence[Verdict]) -> str:
    timed = [s for s in group if s.summary is not None and s.role not in ("instrumented", "side-phases")]
    judged_of = [s for s in timed if s.role != "side"]
    based = [s for s in timed if s.role == "side"]
    control = {s.arm for s in group if s.role in CONTROLS}
    sides = (
        ", ".join(_told(arm, [s for s in judged_of if s.arm == arm], metric) for arm in arms)
        for arms in (
            [arm for arm in dict.fromkeys(s.arm for s in judged_of) if arm not in control],
            [arm for arm in dict.fromkeys(s.arm for s in judged_of) if arm in control],
        )
    )
    others, beside = sides
    found = ((s.arm, _stored(s, verdicts)) for s in group)
    stored = dict.fromkeys(f"{arm} {figures.number(v, metric)}" for arm, v in found if v is not None)
    arms = dict.fromkeys(s.arm for s in based)
    base = ", ".join(_told(arm, [s for s in based if s.arm == arm], metric) for arm in arms)
    told = (
        others,
        f"control {beside}" if beside else "",
        f"before the change {base}" if base else "",
        f"stored {', '.join(stored)}" if stored else "",
    )
    parts = [part for part in told if part]
    return word(f"{workload}: {figures.words(metric)} {'; '.join(parts)} {unit}.", 600)


def _told(arm: str, launches: Sequence[Series], metric: str) -> str:
    """Return "eagle3-2step 58.4 (n=8)", or the lowest and highest median of several launches."""
    medians = sorted(s.summary.median for s in launches if s.summary is not None)
    n = sum(len(s.known) for s in launches)
    low, high = figures.number(medians[0], metric), figures.number(medians[-1], metric)
    if len(launches) == 1:
        return f"{arm} {low} (n={n})"
    return f"{arm} {low if low == high else f'{low} … {high}'} ({len(launches)} launches, n={n})"
