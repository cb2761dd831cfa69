"""Rows of the process table as hosts/scripts/process_table.py sends them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from tokgate.parsers.cgroup import read_cgroup
from tokgate.records.host import ProcessSeen
from tokgate.records.record import Record, Unread
from tokgate.records.redactor import without_secret_arguments

_SHOWN = 500
# Fields of /proc/PID/stat, counted from 1 as in proc(5); the first two stand before the last ")".
_STATE, _PPID, _PGRP, _SESSION, _STARTTIME = 3, 4, 5, 6, 22


class StatReading(Record):
    """One line of /proc/PID/stat."""

    pid: int
    comm: str
    state: str
    ppid: int
    pgid: int
    sid: int
    start_ticks: int


class ProcessTable(Record):
    processes: tuple[ProcessSeen, ...]
    unread: tuple[Unread, ...] = ()


def read_stat(line: str) -> StatReading | None:
    """Read a stat line; None when it is not one. comm may hold blanks, brackets and newlines."""
    pid, opened, rest = line.partition(" (")
    comm, closed, tail = rest.rpartition(") ")
    fields = tail.split()
    if not opened or not closed or not pid.isdigit() or len(fields) <= _STARTTIME - _STATE:
        return None

    def field(number: int) -> str:
        return fields[number - _STATE]

    try:
        return StatReading(
            pid=int(pid),
            comm=comm,
            state=field(_STATE),
            ppid=int(field(_PPID)),
            pgid=int(field(_PGRP)),
            sid=int(field(_SESSION)),
            start_ticks=int(field(_STARTTIME)),
        )
    except ValueError:
        return None


def read_process_table(rows: object) -> ProcessTable:
    """Read the script's rows: objects with stat, cmdline, user, mark and cgroup, each text or null.

    `started` is in seconds since 1970.
    cmdline comes with its NULs: the arguments, or what setproctitle wrote over them.
    """
    processes: list[ProcessSeen] = []
    unread: list[Unread] = []
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return ProcessTable(processes=(), unread=(Unread(text=str(rows)[:_SHOWN], why="not a list of rows"),))
    for number, row in enumerate(rows, start=1):
        stat = read_stat(_text(row, "stat") or "")
        if stat is None:
            unread.append(Unread(line=number, text=str(row)[:_SHOWN], why="no stat line in it"))
            continue
        processes.append(
            ProcessSeen(
                **stat.model_dump(),
                user=_text(row, "user"),
                cmdline=without_secret_arguments(
                    " ".join((_text(row, "cmdline") or "").rstrip("\0").split("\0"))
                ),
                mark=_text(row, "mark"),
                started_at=_time(row),
                within=read_cgroup(_text(row, "cgroup") or ""),
            )
        )
    return ProcessTable(processes=tuple(processes), unread=tuple(unread))


def _text(row: object, key: str) -> str | None:
    value = row.get(key) if isinstance(row, dict) else None
    return value if isinstance(value, str) else None


def _time(row: object) -> str | None:
    value = row.get("started") if isinstance(row, dict) else None
    if not isinstance(value, int):
        return None
    try:
        return dt.datetime.fromtimestamp(value, dt.UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
