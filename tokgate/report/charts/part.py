"""The charts' part of the page: figures, their data as JSON, and the scripts and styles that draw them."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

from markupsafe import Markup

from tokgate.records import RunEvidence
from tokgate.report.arms import as_judged, starts_of
from tokgate.report.chart import Chart
from tokgate.report.chart import charts as strips_of
from tokgate.report.verdict_file import VerdictFile

from . import library
from .concurrency import concurrency
from .cycle import cycle
from .drawing import Figure
from .generations import generations
from .history import history
from .machine import machine
from .verify import verify

# Rows of strips in the page, one a launch, workload and metric: some 600 bytes each, beside their dots.
MOST_STRIPS = 160
MOST_STRIPPED = 40  # launches, a row each in every metric

# In the order in which one needs the other; the last one draws.
_SCRIPTS = ("format", "marks", "ranges", "layers", "pointer", "panel", "figure", "start")
# One scope of its own for all of them. Every text goes into the page as text; nothing is evaluated or fetched, and without
# scripts words and tables stay.
_SCOPE = """(() => {{
"use strict";
const holder = document.getElementById("tokgate-charts");
if (!holder || typeof uPlot === "undefined") return;
{scripts}
}})();
"""


@dataclass(frozen=True)
class ChartsPart:
    """What templates/charts.html.j2 needs."""

    figures: tuple[Figure, ...]
    strips: tuple[Chart, ...]  # every metric as a picture that needs no script
    unstripped: int  # launches that these leave out
    data: Markup
    library: Markup
    script: Markup
    style: Markup

    @property
    def drawn(self) -> bool:
        """Whether any figure has a picture: without one, no script is worth its bytes."""
        return any(f.views for f in self.figures)


def charts_part(file: VerdictFile, evidence: RunEvidence, folder: Path) -> ChartsPart:
    """Return the charts of a run. `folder` is the run's own: the copy of the history lies there."""
    starts = starts_of(evidence)
    figures = (
        generations(file, starts),
        cycle(file),
        verify(file, evidence),
        concurrency(file, evidence),
        history(file, evidence, folder),
        machine(file, evidence),
    )
    launches = tuple(dict.fromkeys(s.launch for s in file.series))
    stripped = launches[:MOST_STRIPPED]
    return ChartsPart(
        figures=figures,
        strips=_within(strips_of([as_judged(s, starts) for s in file.series if s.launch in stripped])),
        unstripped=len(launches) - len(stripped),
        data=embedded(figures),
        # Our own files and the vendored one, which a test holds to its hash: what reaches the page unescaped.
        library=Markup(library.script()),  # noqa: S704
        script=Markup(drawing_script()),  # noqa: S704
        style=Markup(library.style() + _own("charts.css")),  # noqa: S704
    )


def _within(strips: Sequence[Chart]) -> tuple[Chart, ...]:
    """Return as many of the strips as the page has room for; at least one."""
    rows = accumulate(sum(len(p.rows) for p in chart.panels) for chart in strips)
    return tuple(c for i, (c, n) in enumerate(zip(strips, rows, strict=True)) if i == 0 or n <= MOST_STRIPS)


def embedded(figures: Sequence[Figure]) -> Markup:
    """Return the figures as JSON for a script element: ASCII, and no character in it can end that element."""
    told = [
        f.model_dump(mode="json", exclude_defaults=True, include={"id", "title", "choices", "views", "facts"})
        for f in figures
        if f.views
    ]
    text = json.dumps(told, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing is left in it that HTML knows


@cache
def drawing_script() -> str:
    """Return our own scripts, templates/chart_*.js, as one that draws what `embedded` tells with the vendored library."""
    return _SCOPE.format(scripts="\n".join(_own(f"chart_{name}.js") for name in _SCRIPTS))


@cache
def _own(name: str) -> str:
    return (
        importlib.resources.files("tokgate.report")
        .joinpath("templates")
        .joinpath(name)
        .read_text(encoding="utf-8")
    )
