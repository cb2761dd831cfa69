"""The hosts of a run in summary.md."""

from __future__ import annotations

from collections.abc import Callable

from .fleet_rows import HostTables, Row, tables
from .markdown import bullets, headed, table_row, text
from .verdict_file import VerdictFile


def hosts_table(file: VerdictFile) -> list[str]:
    """Return the lines of their tables; none where the session has one host."""
    if file.fleet is None:
        return []
    found: HostTables = tables(file.fleet)
    told = _table("Hosts", found.host_columns, found.host_rows, found.host_numbers)
    if found.change_rows:
        told += _table(
            "Slower than its base, arm by arm", found.change_columns, found.change_rows, found.change_numbers
        )
    if found.spread_rows:
        told += _table(
            "How far hosts lie apart", found.spread_columns, found.spread_rows, found.spread_numbers
        )
    return [*told, *bullets(found.words)]


def _table(title: str, columns: Row, rows: list[Row], numeric: Callable[[int], bool]) -> list[str]:
    return [
        *headed(title, columns, numeric),
        *(table_row(text(cell, 300) for cell in row) for row in rows),
    ]
