"""Who runs on a host. Every process is found by mark, session or parent, never by name."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.parsers.process_table import read_process_table
from tokgate.records import ProcessSeen

# The variable that every process of a server run inherits; "<run id>/<launch id>".
MARK_VARIABLE = "TOKGATE_MARK"


def processes(host: Host) -> tuple[ProcessSeen, ...]:
    """Return the whole table. HostFault: it could not be read."""
    rows = host.run_python(source("process_table"), {}, name="process table reader")
    table = read_process_table(rows)
    if not table.processes:
        raise HostFault(
            tried=f"to read the process table of {host.name}",
            found="not one readable process",
            do="see whether /proc is mounted there",
        )
    return table.processes


def marked(host: Host, mark_prefix: str) -> tuple[ProcessSeen, ...]:
    """Return the processes whose mark is `mark_prefix` or lies below it; "" means any mark.

    "run1" and "run1/" find "run1/01-a", "run1/01" does not. A zombie has no mark any more.
    """
    return tuple(p for p in processes(host) if p.mark is not None and under(p.mark, mark_prefix))


def under(mark: str, prefix: str) -> bool:
    whole = prefix.rstrip("/")
    return not whole or mark == whole or mark.startswith(f"{whole}/")


def tree(
    host: Host, pid: int, start_ticks: int, sid: int, *, mark: str | None = None
) -> tuple[ProcessSeen, ...]:
    """Return what belongs to the process that was `pid` since `start_ticks`, itself included.

    That is: its descendants; its session, whose members outlive it; and, with `mark`, every process
    that carries it, wherever it was re-parented to.
    """
    return belonging(processes(host), pid, start_ticks, sid, mark=mark)


def belonging(
    table: Iterable[ProcessSeen], pid: int, start_ticks: int, sid: int, *, mark: str | None = None
) -> tuple[ProcessSeen, ...]:
    """`tree` on a table that was already read."""
    seen = tuple(table)
    by_pid = {p.pid: p for p in seen}
    leader = by_pid.get(sid)
    # The kernel keeps a session's number while it has members. If its leader is younger than our
    # process, the old session is empty and the number has been given away.
    session_stands = leader is None or leader.start_ticks <= start_ticks
    found = {
        p.pid
        for p in seen
        if (p.pid == pid and p.start_ticks == start_ticks)
        or (mark is not None and p.mark == mark)
        or (
            session_stands
            and p.sid == sid
            and p.start_ticks >= start_ticks
            and (mark is None or p.mark in {None, mark})
        )
    }
    while more := {p.pid for p in seen if p.ppid in found} - found:
        found |= more
    return tuple(p for p in seen if p.pid in found)


def environ_of(host: Host, pids: Iterable[int]) -> dict[int, bytes | None]:
    """Return the bytes of /proc/PID/environ, secrets included.

    None: it may not be read, or there is no such process any more. Read it with parsers.environ, which
    tells whether absence proves anything.
    """
    wanted = sorted(set(pids))
    rows = host.run_python(source("process_table"), {"environ_of": wanted}, name="environment reader")
    found = {row["pid"]: row["environ"] for row in rows}
    return {pid: None if found.get(pid) is None else base64.b64decode(found[pid]) for pid in wanted}
