"""The tables of hosts as report.html and summary.md show them: plain cells, escaped where they are put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from tokgate.records.fleet import Shift, ShiftState

from . import figures
from .fleet_patch import ChangeRow
from .fleet_table import FleetTable, HostRow, SpreadRow, changed, middle, percent, slower

Row = tuple[str, ...]
HOST_COLUMNS = ("host", "address", "state", "measured", "launches", "minutes", "remarks")
SPREAD_COLUMNS = ("arm", "workload", "metric", "by host", "hosts", "runs", "apart", "n")
CHANGE_COLUMNS = ("arm", "workload", "slower than its base?", "change by host", "apart")
SHIFT_COLUMNS = ("shift", "host", "state", "took", "made", "from", "to", "why")
_NUMERIC = frozenset(("launches", "minutes", "hosts", "runs", "apart", "n"))


class Page(NamedTuple):
    label: str
    href: str  # relative to the run folder


class HostTables(NamedTuple):
    host_columns: Row
    host_rows: list[Row]
    change_columns: Row
    change_rows: list[Row]
    spread_columns: Row
    spread_rows: list[Row]
    shift_columns: Row
    shift_rows: list[Row]
    words: Sequence[str]
    pages: list[Page]
    lost: bool

    @property
    def host_numbers(self) -> Callable[[int], bool]:
        return numeric(self.host_columns)

    @property
    def change_numbers(self) -> Callable[[int], bool]:
        return numeric(self.change_columns)

    @property
    def spread_numbers(self) -> Callable[[int], bool]:
        return numeric(self.spread_columns)

    @property
    def shift_numbers(self) -> Callable[[int], bool]:
        return numeric(self.shift_columns)


def numeric(columns: Row) -> Callable[[int], bool]:
    return lambda index: columns[index] in _NUMERIC


def tables(table: FleetTable) -> HostTables:
    return HostTables(
        host_columns=HOST_COLUMNS,
        host_rows=[host_cells(host) for host in table.hosts],
        change_columns=CHANGE_COLUMNS,
        change_rows=[change_cells(row) for row in table.changes],
        spread_columns=SPREAD_COLUMNS,
        spread_rows=[spread_cells(row) for row in table.spread],
        shift_columns=SHIFT_COLUMNS,
        shift_rows=[shift_cells(shift) for shift in table.shifts],
        words=(*(f"{g} was measured nowhere: {why}" for g, why in table.unmeasured.items()), *table.words),
        pages=[
            Page(shift.label, f"{quote(shift.folder)}/report.html")
            for shift in table.shifts
            if shift.state is ShiftState.MEASURED
        ],
        lost=any(shift.state is not ShiftState.MEASURED for shift in table.shifts),
    )


def host_cells(host: HostRow) -> Row:
    remarks = [host.why or "", f"do: {host.do}" if host.why and host.do else "", *host.notes]
    if host.lost:
        remarks.append(f"measured there and judged nowhere: {', '.join(host.lost)}")
    return (
        host.host,
        host.address,
        host.state.value,
        ", ".join(host.groups) or figures.NONE,
        str(host.launches) if host.launches else figures.NONE,
        f"{host.seconds / 60:.1f}" if host.seconds else figures.NONE,
        "; ".join(filter(None, remarks)) or figures.NONE,
    )


def change_cells(row: ChangeRow) -> Row:
    return (
        row.arm,
        row.workload,
        slower(row),
        changed(row),
        figures.NONE if row.apart is None else f"{100 * row.apart:.1f} points",
    )


def spread_cells(row: SpreadRow) -> Row:
    by_host = ", ".join(f"{host} {figures.number(middle(v), row.metric)}" for host, v in row.values.items())
    spread = row.spread
    return (
        row.arm,
        row.workload,
        row.metric,
        f"{by_host} {row.unit}",
        figures.UNKNOWN if spread.between_hosts is None else percent(spread.between_hosts),
        figures.UNKNOWN if spread.between_runs is None else percent(spread.between_runs),
        percent(spread.apart),
        f"{spread.hosts} hosts, {spread.runs} runs",
    )


def shift_cells(shift: Shift) -> Row:
    return (
        str(shift.number),
        shift.label,
        shift.state.value,
        ", ".join(shift.groups) or figures.NONE,
        ", ".join(shift.measured) or figures.NONE,
        shift.began_at[11:19],
        (shift.ended_at or "")[11:19] or figures.NONE,
        shift.why or figures.NONE,
    )
