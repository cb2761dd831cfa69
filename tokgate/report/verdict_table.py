"""The verdict table of report.html: what is to be looked at in full, what was kept folded by check, and what may be chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .figures import NONE
from .kept import Together
from .leading import TWIN
from .verdict_file import VerdictFile
from .verdict_rows import RowGroup, VerdictRow, row_groups

COLUMNS = (
    "outcome", "promise", "where", "value", "reference", "change", "interval", "floor", "n", "source",
)  # fmt: skip
NUMBERS = ("value", "reference", "change", "interval", "n")


@dataclass(frozen=True)
class Choice:
    """One entry of a list to choose from; `css` is the class of the rows it keeps in sight."""

    css: str
    label: str
    count: int


@dataclass(frozen=True)
class Filter:
    name: str  # what is chosen by: outcome, arm or workload
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class TableRow:
    row: VerdictRow
    css: str  # the classes of its outcome, arm and workload


@dataclass(frozen=True)
class TableGroup:
    group: Together
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class VerdictTable:
    first: tuple[TableRow, ...]  # worst first: what was not kept, then how speculation fares against its twin
    kept: tuple[TableGroup, ...]
    filters: tuple[Filter, ...]  # those with something to choose from


def verdict_table(file: VerdictFile) -> VerdictTable:
    groups = row_groups(file, least=2)  # folded rows lose nothing: each opens
    rows = [row for group in groups for row in group.rows]
    keys = {
        "outcome": [row.outcome for row in rows],
        "arm": [row.verdict.arm or NONE for row in rows],
        "workload": [row.workload for row in rows],
    }
    filters = {name: _filter(name, values) for name, values in keys.items()}
    classes = {
        name: {choice.label: choice.css for choice in found.choices} for name, found in filters.items()
    }
    css = {
        id(row): " ".join(classes[name][values[i]] for name, values in keys.items())
        for i, row in enumerate(rows)
    }

    def table_rows(group: RowGroup) -> tuple[TableRow, ...]:
        return tuple(TableRow(row, css[id(row)]) for row in group.rows)

    first = [group for group in groups if _first(group)]
    return VerdictTable(
        first=tuple(row for group in first for row in table_rows(group)),
        kept=tuple(TableGroup(g.group, table_rows(g)) for g in groups if not _first(g)),
        filters=tuple(f for f in filters.values() if len(f.choices) > 1),
    )


def _first(group: RowGroup) -> bool:
    return not group.rows[0].kept or group.group.check == TWIN


def _filter(name: str, values: Iterable[str]) -> Filter:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    # A class of our own making: a foreign name never becomes part of a style sheet.
    return Filter(name, tuple(Choice(f"{name[0]}{i}", v, n) for i, (v, n) in enumerate(counts.items())))
