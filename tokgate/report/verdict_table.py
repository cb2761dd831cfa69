"""The verdict table of report.html: what is to be looked at in full, what was kept folded by check, and what may be chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokgate.records import Outcome

from .figures import NONE
from .kept import Together
from .leading import TWIN
from .room import MOST_FIRST, MOST_OF_A_GROUP, within
from .verdict_file import VerdictFile
from .verdict_rows import RowGroup, VerdictRow, row_groups

COLUMNS = (
    "outcome", "promise", "where", "value", "reference", "change", "interval", "floor", "n", "source",
)  # fmt: skip
NUMBERS = ("value", "reference", "change", "interval", "n")
_FEWEST_FOLLOWING = 2  # verdicts of one reason besides the first
_MOST_NAMES = 6


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
    left: int  # how many more there are than the page has room for


@dataclass(frozen=True)
class Following:
    """Invalid verdicts that give the reason of one that stands in the table: one fault can make fifty tests invalid."""

    outcome: str
    reason: str
    checks: str
    rows: tuple[TableRow, ...]
    left: int


@dataclass(frozen=True)
class VerdictTable:
    first: tuple[TableRow, ...]  # worst first: what was not kept, then how speculation fares against its twin
    left: int  # how many more of those there are than the page has room for
    following: tuple[Following, ...]
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

    first, following = _told_once(
        [row for group in groups if _first(group) for row in table_rows(group)],
    )
    seen = within(first, MOST_FIRST)
    kept = [
        (g.group, within(table_rows(g), MOST_OF_A_GROUP if len(rows) > MOST_FIRST else len(rows)))
        for g in groups
        if not _first(g)
    ]
    return VerdictTable(
        first=seen.items,
        left=seen.left,
        following=following,
        kept=tuple(TableGroup(group, shown.items, shown.left) for group, shown in kept),
        filters=tuple(f for f in filters.values() if len(f.choices) > 1),
    )


def _first(group: RowGroup) -> bool:
    return not group.rows[0].kept or group.group.check == TWIN


def _told_once(rows: list[TableRow]) -> tuple[list[TableRow], tuple[Following, ...]]:
    """Return the rows without those that say again what an earlier one says, and those, by their reason."""
    by_reason: dict[str, list[TableRow]] = {}
    for entry in rows:
        if entry.row.verdict.outcome is Outcome.INVALID:
            by_reason.setdefault(_reason(entry), []).append(entry)
    following = {reason: found[1:] for reason, found in by_reason.items() if len(found) > _FEWEST_FOLLOWING}
    again = {id(entry) for found in following.values() for entry in found}
    told = []
    for reason, found in following.items():
        checks = list(dict.fromkeys(entry.row.check for entry in found))
        more = f" and {len(checks) - _MOST_NAMES} more" if len(checks) > _MOST_NAMES else ""
        shown = within(found, MOST_OF_A_GROUP if len(rows) > MOST_FIRST else len(found))
        names = ", ".join(checks[:_MOST_NAMES]) + more
        told.append(Following(found[0].row.outcome, reason, names, shown.items, shown.left))
    return [entry for entry in rows if id(entry) not in again], tuple(told)


def _reason(entry: TableRow) -> str:
    """Return a headline without what it is of: "steadiness on 01-baseline: GPU 0 is not clean"."""
    head, _, reason = entry.row.verdict.headline.partition(": ")
    return reason or head


def _filter(name: str, values: Iterable[str]) -> Filter:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    # A class of our own making: a foreign name never becomes part of a style sheet.
    return Filter(name, tuple(Choice(f"{name[0]}{i}", v, n) for i, (v, n) in enumerate(counts.items())))
