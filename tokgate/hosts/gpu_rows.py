"""Rows of nvidia-smi, whatever fields this driver knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.parsers.nvidia_smi import Cell, read_table
from tokgate.records import CommandResult

_UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')
Row = dict[str, Cell]


def ask_rows(
    host: Host, wanted: Sequence[str], *, older: Mapping[str, str] | None = None
) -> tuple[tuple[Row, ...], list[str], CommandResult]:
    """Return a row a GPU, the fields that this driver does not know, and the answer itself.

    `older`: a field's name in drivers before; the row has it under the name that was asked for. HostFault: no rows.
    """
    spelled = {name: name for name in wanted}
    refused: list[str] = []
    while True:
        asked = host.run(
            "nvidia-smi --query-gpu=%s --format=csv,noheader,nounits", ",".join(spelled.values())
        )
        unknown = _UNKNOWN_FIELD.search(asked.stdout + asked.stderr)
        name = next((n for n, s in spelled.items() if unknown is not None and s == unknown[1]), None)
        if name is None:
            break
        if (before := (older or {}).get(name)) is not None and spelled[name] != before:
            spelled[name] = before
        else:
            del spelled[name]
            refused.append(name)
    table = read_table(asked.stdout, list(spelled.values()))
    if asked.rc != 0 or not table.rows:
        raise HostFault(
            tried="to ask nvidia-smi",
            found=(asked.stdout + asked.stderr).strip()[:300] or "nothing",
            do="run nvidia-smi by hand",
        )
    rows = tuple({n: row[s] for n, s in spelled.items() if s in row} for row in table.rows)
    return rows, refused, asked
