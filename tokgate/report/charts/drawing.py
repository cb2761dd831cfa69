"""What a chart is made of: records that are written into the page as JSON and drawn there.

Every text is foreign until shown: the builders take it through `word`. Numbers keep SIGNIFICANT digits. A field that has
its default is left out of the JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from tokgate.records import Record
from tokgate.report import figures
from tokgate.report.visible import one_line
from tokgate.verdicts.metrics import METRICS

SIGNIFICANT = 6
_LONGEST = 120

Way = Literal["x", "y"]
# What something is drawn for: each has a colour in light and dark; "line-N" are the colours of single series.
Tone = Literal[
    "control", "arm", "limit", "bad", "good", "open", "soft",
    "line-0", "line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7",
]  # fmt: skip
Mark = Literal["circle", "square", "triangle", "diamond", "cross", "plus", "ring", "none"]
Draw = Literal["points", "line", "steps", "bars", "intervals"]

LINES: tuple[Tone, ...] = (
    "line-0", "line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7",
)  # fmt: skip
MARKS: tuple[Mark, ...] = ("circle", "square", "triangle", "diamond", "cross", "plus", "ring")


class Tick(Record):
    at: float
    label: str
    short: str = ""  # where `label` has no room


class Axis(Record):
    label: str
    unit: str = ""
    digits: int | None = None  # decimals; None: four significant digits
    ticks: tuple[Tick, ...] = ()  # (): round numbers
    low: float | None = None  # what must be seen; None: what is drawn decides
    high: float | None = None
    log: bool = False  # offer a logarithmic axis beside the linear one


class Line(Record):
    """A level (way "y") or a moment ("x"), over the whole picture or from `first` to `last` along the other axis."""

    way: Way
    at: float
    label: str
    tone: Tone
    dash: int = 0  # 0: unbroken; each further number is another pattern
    first: float | None = None
    last: float | None = None
    quiet: bool = False  # drawn thin and not listed below the picture


class Band(Record):
    """From `low` to `high` along `way`, over the whole picture or a part of it."""

    way: Way
    low: float
    high: float
    label: str
    tone: Tone
    first: float | None = None
    last: float | None = None
    tag: str = ""  # written into the picture; what has none is listed below it
    quiet: bool = False  # not listed


class Trace(Record):
    """Values in the order of x. `x` is given point by point, or counts from `x0` on, or `x0` plus each of `numbers`."""

    label: str
    tone: Tone
    draw: Draw
    y: tuple[float | None, ...]
    x: tuple[float, ...] = ()
    x0: float = 0
    numbers: tuple[int, ...] = ()  # (): 0, 1, 2, …
    number: str = ""  # what the number is: "generation"
    low: tuple[float | None, ...] = ()  # of an interval of each value
    high: tuple[float | None, ...] = ()
    facts: dict[str, tuple[str, ...]] = {}  # more that is said of each point
    places: tuple[int, ...] = ()  # of each point: which place in the figure's `facts` is about it
    mark: Mark = "circle"
    dash: int = 0
    note: str = ""  # behind the label in the list: "n=8, median 93.4 tok/s"


class Panel(Record):
    title: str
    x: Axis
    y: Axis
    traces: tuple[Trace, ...]
    lines: tuple[Line, ...] = ()
    bands: tuple[Band, ...] = ()
    shares: bool = False  # lines and bands are those of the view's first panel, whose tags stand there alone
    height: int = 260  # CSS pixels


class View(Record):
    """The panels that one choice shows, with what they say in words."""

    chosen: tuple[str, ...]
    panels: tuple[Panel, ...]
    says: str


class Figure(Record):
    """One chart with its choices, and the same in words and a table for who has no picture."""

    id: str
    title: str
    says: tuple[str, ...]  # the conclusions, first of all
    notes: tuple[str, ...] = ()  # how to read it, what was left out
    choices: tuple[str, ...] = ()  # what is chosen: "metric", "workload"
    views: tuple[View, ...] = ()  # (): there is nothing to draw, and `says` says why
    facts: dict[str, tuple[str, ...]] = {}  # what many views say of the same things, once
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def word(foreign: object, limit: int = _LONGEST) -> str:
    return one_line(str(foreign), limit)


def lean(value: float) -> float:
    """Return a value with SIGNIFICANT digits, as an integer where it is one: fewer bytes, and nothing to be seen."""
    if not math.isfinite(value) or value == 0:
        return 0 if value == 0 else value
    short = float(f"{value:.{SIGNIFICANT}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def leans(values: Iterable[float | None]) -> tuple[float | None, ...]:
    return tuple(None if v is None or not math.isfinite(v) else lean(v) for v in values)


def axis_of(metric: str, unit: str, *, log: bool = False) -> Axis:
    """Return the axis of one of the metrics: its name, unit, decimals and which way is better."""
    known = METRICS.get(metric)
    better = figures.better(metric)
    return Axis(
        label=word(f"{figures.words(metric)}{f', {better} is better' if better else ''}"),
        unit=word(unit, 20),
        digits=known.decimals if known is not None else None,
        log=log,
    )
