"""One strip plot per metric: every generation of every launch, median and interval, as inline SVG.

Geometry only: templates/chart.svg.j2 turns it into text and escapes. Lengths are SVG user units;
a chart is drawn WIDTH units wide and shown at about that many pixels, so that its letters keep
their size on a telephone as on a screen. Workloads have an axis each: their scales differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tokgate.stats.thin import thinned

from . import figures
from .series import Point, Series, judged, metrics_of
from .visible import fit, one_line

WIDTH = 380
_MARGIN = 10
_HEAD = 20  # a panel's workload
_ROW = 46  # label above, strip below
_AXIS = 40
_STRIP = 12  # half height over which points are spread
_LABEL_COLUMNS = 30
# Tooltips cost bytes: with more points than this in all charts together only the rows have one.
_TITLED_POINTS = 800
# Of a row, more of which would lie upon each other, and of all charts together.
_MOST_DOTS = 300
_MOST_ALTOGETHER = 12_000
_FEWEST_DOTS = 12


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    title: str | None


@dataclass(frozen=True)
class Tick:
    x: float
    text: str
    anchor: str  # SVG text-anchor


@dataclass(frozen=True)
class Row:
    label: str
    note: str
    title: str
    kind: str  # "control" or "arm": a CSS class
    y: float  # middle of the strip
    dots: tuple[Dot, ...]
    titled: bool  # whether each dot has its own tooltip
    median: float | None  # x
    interval: tuple[float, float] | None  # x


@dataclass(frozen=True)
class Panel:
    """One workload: its rows over an axis of their own."""

    workload: str
    top: float
    axis_y: float
    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Chart:
    metric: str
    title: str
    axis: str  # unit and direction
    width: int
    height: float
    panels: tuple[Panel, ...]


class Scale:
    """From values to places between the margins; a single value lies in the middle."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        pad = (high - low) * 0.04 or abs(low) * 0.02 or 1.0
        self.low, self.high = low - pad, high + pad

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(_MARGIN + share * (WIDTH - 2 * _MARGIN), 2)


def charts(series: Sequence[Series]) -> tuple[Chart, ...]:
    """Return one chart per metric that has at least one known value."""
    shown = judged(series)
    known = [len(s.known) for s in shown if s.known]
    titled = sum(known) <= _TITLED_POINTS
    most = min(_MOST_DOTS, max(_FEWEST_DOTS, _MOST_ALTOGETHER // max(1, len(known))))
    found = (
        _chart(tuple(s for s in shown if s.metric == m and s.known), titled, most) for m in metrics_of(shown)
    )
    return tuple(chart for chart in found if chart is not None)


def round_values(low: float, high: float, most: int = 5) -> tuple[float, ...]:
    """Return round values inside [low, high], at most `most` + 1: a step of 1, 2 or 5 times a power of ten."""
    if not low < high:
        return (low,)
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1, 2, 5) if m * power >= raw), 10 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(i * step for i in range(first, last + 1))


def _chart(series: tuple[Series, ...], titled: bool, most: int) -> Chart | None:
    if not series:
        return None
    panels: list[Panel] = []
    top = 0.0
    for workload in dict.fromkeys(s.workload for s in series):
        panel = _panel(workload, tuple(s for s in series if s.workload == workload), top, titled, most)
        panels.append(panel)
        top = panel.axis_y + _AXIS
    metric, unit = series[0].metric, one_line(series[0].unit, 20)
    better = figures.better(metric)
    return Chart(
        metric=metric,
        title=figures.words(metric),
        axis=f"{unit}, {better} is better" if better else unit,
        width=WIDTH,
        height=top,
        panels=tuple(panels),
    )


def _panel(workload: str, series: tuple[Series, ...], top: float, titled: bool, most: int) -> Panel:
    scale = Scale([v for s in series for v in s.known])
    first = top + _HEAD
    return Panel(
        workload=fit(one_line(workload), 50),
        top=top,
        axis_y=first + _ROW * len(series),
        ticks=_ticks(scale),
        rows=tuple(
            _row(s, first + _ROW * (i + 1) - _STRIP - 4, scale, titled, most) for i, s in enumerate(series)
        ),
    )


def _row(series: Series, y: float, scale: Scale, titled: bool, most: int) -> Row:
    summary = series.summary
    known = [(p, p.value) for p in series.points if p.value is not None]
    lost = len(series.points) - len(known)
    kept = [known[i] for i in thinned([v for _, v in known], most)]
    drawn = f", {len(kept)} drawn" if len(kept) < len(known) else ""
    n = summary.n if summary else len(known)  # barrier starts where streams that began together count once
    dots = f", {len(known)} values" if n != len(known) else ""
    count = f"n={n}{dots}{f', {lost} unknown' if lost else ''}{drawn}"
    middle = figures.quantity(summary.median if summary else None, series.unit, series.metric)
    interval = summary.interval if summary else None
    spread = (
        f"{summary.confidence:.0%} interval of the median {' … '.join(figures.number(v, series.metric) for v in interval)}"
        if summary and interval
        else "too few values for an interval of the median"
    )
    return Row(
        label=fit(one_line(series.launch), _LABEL_COLUMNS),
        note=f"{one_line(middle)}  {count}",
        title=f"{series.launch}, {series.workload}: median {middle}, {spread}, {count}",
        kind="control" if series.role in ("control", "control-again") else "arm",
        y=y,
        dots=tuple(
            Dot(scale(value), round(y + _spread(i), 2), _tooltip(series, point) if titled else None)
            for i, (point, value) in enumerate(kept)
        ),
        titled=titled,
        median=scale(summary.median) if summary else None,
        interval=(scale(interval[0]), scale(interval[1])) if interval else None,
    )


def _tooltip(series: Series, point: Point) -> str:
    value = figures.quantity(point.value, series.unit, series.metric)
    return f"{series.launch}, {series.workload} #{point.index}: {value}"


def _spread(position: int) -> float:
    """Return a height that keeps neighbours apart and is the same on every rendering (golden ratio)."""
    return ((position * 0.6180339887) % 1.0 - 0.5) * 2 * _STRIP * 0.8


def _ticks(scale: Scale) -> tuple[Tick, ...]:
    values = round_values(scale.low, scale.high)
    gap = values[1] - values[0] if len(values) > 1 else abs(values[0]) or 1.0
    decimals = max(0, -math.floor(math.log10(gap) + 1e-9))
    return tuple(Tick(scale(v), f"{v:.{decimals}f}", _anchor(scale(v))) for v in values)


def _anchor(x: float) -> str:
    """Keep the outermost labels inside the picture."""
    if x < 3 * _MARGIN:
        return "start"
    return "end" if x > WIDTH - 3 * _MARGIN else "middle"
