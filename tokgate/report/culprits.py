"""The search for the part of a change that costs, as a table: a row per unit or cleared group, and what it all rests on."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import RunEvidence
from tokgate.rig.models import Rig
from tokgate.verdicts.culprit import CulpritPart, CulpritTable, culprit_table
from tokgate.verdicts.culprit_words import (
    FINDINGS,
    adds_up,
    amount,
    files_words,
    sure,
    taken_out_words,
    took,
    units_of,
)
from tokgate.verdicts.side_words import listed

from .markdown import bullets, headed, table_row, text
from .verdict_file import VerdictFile

COLUMNS = ("part of the change", "files", "finding", "cost", "95 % interval", "at most", "server runs")
NOTE = (
    "Base and head are measured first, then what lies between, by halves: a part that is shown to cost nothing worth calling is cleared as a "
    "whole, one that costs is split until it is one unit. A cost is relative to the server with all units before it; below 0 it is a "
    "gain. 'At most' holds with the power that the rig asks for."
)
_MOST = 12  # parts that a terminal shows


def table_of(evidence: RunEvidence, rig: Rig) -> CulpritTable | None:
    if rig.sides is None:
        return None
    return culprit_table(rig, evidence.launches, evidence.sides)


def numeric(column: int) -> bool:
    return column >= 3


def rows_of(table: CulpritTable) -> Iterator[tuple[str, ...]]:
    """Yield the cells in the order of COLUMNS, the whole change last."""
    for part in (*table.parts, *table.spread):
        yield _cells(part, _named(part))
    yield _cells(table.whole, "the change as a whole")


def lines_of(table: CulpritTable) -> Iterator[str]:
    """Yield what stands below the table."""
    yield adds_up(table)
    yield from taken_out_words(table)
    for part in (p for p in table.parts if p.why is not None):
        yield f"{units_of(part)}: {part.why}"
    if table.inert:
        yield f"change nothing that a server imports, so they cost nothing: {listed([u.name for u in table.inert])}"
    for side, why in table.broken.items():
        yield f"the side {side} was searched around: it {why}"
    yield took(table)
    yield sure(table)
    if table.moved:
        yield f"the base lies up to {table.moved:.2%} apart between its runs: no cost below that is called"


def terminal_lines(table: CulpritTable) -> Iterator[str]:
    """Yield a line a part, and what the search took."""
    for part in table.parts[:_MOST]:
        yield f"{FINDINGS[part.finding]:<9}  {amount(part)}  {_named(part)}"
    if len(table.parts) > _MOST:
        yield f"… and {len(table.parts) - _MOST} more parts: see report.html"
    yield f"culprit, {table.arm} in {table.workload}: {took(table)}"


def section_md(file: VerdictFile) -> list[str]:
    """Return the section of summary.md."""
    if file.culprit is None:
        return []
    table = file.culprit
    title = f"Which part of the change costs what: {text(table.arm)}, {text(table.workload)}"
    return [
        *headed(title, COLUMNS, numeric),
        *(table_row(text(cell) for cell in cells) for cells in rows_of(table)),
        *bullets(lines_of(table)),
        "",
        text(NOTE, 600),
    ]


def _cells(part: CulpritPart, name: str) -> tuple[str, ...]:
    low, high = part.interval
    files = tuple(dict.fromkeys(file for unit in part.units for file in unit.files))
    return (
        name,
        files_words(files),
        FINDINGS[part.finding],
        f"{part.cost * 100:+z.1f} %",
        f"{low * 100:+z.1f} … {high * 100:+z.1f} %",
        f"{part.at_most * 100:.1f} %",
        str(len(part.launches)),
    )


def _named(part: CulpritPart) -> str:
    if len(part.units) == 1:
        return part.units[0].name
    return f"{len(part.units)} together: {listed([unit.name for unit in part.units])}"
