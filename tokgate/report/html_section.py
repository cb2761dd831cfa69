"""The gate's part of report.html: one self-contained piece, and the same piece as a page of its own.

Jinja2 escapes everything; on top of that the `shown` filter makes invisible characters visible and
cuts what is too long to be read. Nothing is loaded from anywhere.
"""

from __future__ import annotations

import importlib.resources
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from tokgate.records import RunEvidence

from . import (
    arithmetic_cells,
    diagnosed,
    figures,
    gain,
    phases,
    qualified,
    sampling,
    simulated,
    split_cells,
    sweep,
)
from .chart import charts
from .conclusion import counted
from .environment_matrix import LEGEND, matrix_of
from .nccl_matrix import LEGEND as NCCL_LEGEND
from .nccl_matrix import STAGES, five_states
from .raw_files import raw_files
from .since_baseline import changes
from .telemetry_strip import strips
from .verdict_file import VerdictFile
from .verdict_rows import difference_rows, row_groups
from .visible import shorten, visible

_LONGEST = 4000


def section(file: VerdictFile, evidence: RunEvidence, folder: Path, *, link_base: str = "") -> str:
    """Return the HTML of the gate's part, to stand first on a page of pytest-html.

    `link_base` is put in front of links into the run folder.
    """
    context = _context(file, evidence, folder, link_base) | {
        "style": _style("style.css") + _style("around.css")
    }
    return _environment().get_template("section.html.j2").render(context)


def page(file: VerdictFile, evidence: RunEvidence, folder: Path, *, link_base: str = "") -> str:
    """Return a whole HTML document with nothing but the gate's part, for when pytest-html wrote none."""
    return _environment().get_template("page.html.j2").render(_context(file, evidence, folder, link_base))


def title(file: VerdictFile) -> str:
    """Return the document's title as plain text."""
    label = f"{simulated.WORD} " if file.simulated else ""
    return shorten(visible(f"{label}{file.outcome.value.upper()}: {file.headline}", keep=""), 300)


def shown(foreign: object, limit: int = _LONGEST) -> str:
    """Return text that can be seen as it is; the caller's template escapes it."""
    text = visible(str(foreign))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _context(file: VerdictFile, evidence: RunEvidence, folder: Path, link_base: str) -> dict[str, object]:
    return {
        "file": file,
        "title": title(file),
        "groups": row_groups(file),
        "counted": counted(file.verdicts),
        "differences": difference_rows(file),
        "charts": charts(file.series),
        "matrices": [m for m in map(matrix_of, evidence.launches) if m is not None],
        "legend": LEGEND,
        "nccl": five_states(file.nccl) if file.nccl is not None else None,
        "nccl_stages": STAGES,
        "nccl_legend": NCCL_LEGEND,
        "arithmetic": arithmetic_cells,
        "diagnosed": diagnosed,
        "gain": gain,
        "qualified": qualified,
        "split_cells": split_cells,
        "since": tuple(changes(file.since_baseline)),
        "phase_columns": phases.COLUMNS,
        "phase_rows": [phases.cells(row) for row in phases.phase_rows(file.phases)],
        "phases_unknown": phases.unknown_of(file.phases),
        "phases_disputed": phases.disputed(file.phases),
        "sweep_columns": sweep.COLUMNS,
        "sweep_rows": sweep.rows_of(file.sweep) if file.sweep is not None else (),
        "sweep_lines": sweep.lines_of(file.sweep) if file.sweep is not None else (),
        "sweep_note": sweep.NOTE,
        "sampling": sampling,
        "strips": strips(evidence.launches),
        "folder": folder,
        "files": raw_files(folder),
        "figures": figures,
        "simulated": simulated,
        "style": _style("style.css"),
        "link_base": link_base,
    }


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tokgate.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["size"] = size
    return environment


@cache
def _style(name: str) -> Markup:
    files = importlib.resources.files("tokgate.report").joinpath("templates")
    # Our own file, the only text that reaches the page unescaped.
    return Markup(files.joinpath(name).read_text(encoding="utf-8"))  # noqa: S704


def size(count: int) -> str:
    """Format a number of bytes."""
    amount, units = float(count), ["B", "kB", "MB", "GB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"
