"""Reads /proc once. Processes may vanish meanwhile; what may not be read is null."""

from __future__ import annotations

import base64
import os
import pwd
from pathlib import Path
from typing import Any

PROC = Path("/proc")
MARK = b"TOKGATE_MARK="


def main(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table's rows, or with {"environ_of": [pid, ...]} only those with their environ in base64."""
    wanted = argument.get("environ_of")
    # This reader and its runner are no part of what is looked at.
    own = {os.getpid(), os.getppid()}
    booted = boot_time()
    pids = wanted if wanted is not None else [int(e.name) for e in PROC.iterdir() if e.name.isdigit()]
    rows = []
    for pid in pids:
        if wanted is None and pid in own:
            continue
        row = look_at(pid, booted, whole_environ=wanted is not None)
        if row is not None:
            rows.append(row)
    return rows


def look_at(pid: int, booted: int | None, *, whole_environ: bool) -> dict[str, Any] | None:
    folder = PROC / str(pid)
    stat = read(folder / "stat")
    if not stat:
        return None
    cmdline = read(folder / "cmdline")
    environ = read(folder / "environ")
    # Between the reads the number may have passed to another process.
    if start(read(folder / "stat")) != start(stat):
        return None
    row: dict[str, Any] = {
        "pid": pid,
        "stat": text(stat),
        "cmdline": text(cmdline or b""),
        "user": user_of(read(folder / "status") or b""),
        "mark": mark_in(environ or b""),
        "started": started(stat, booted),
        "cgroup": paths_of(read(folder / "cgroup") or b""),
    }
    if whole_environ:
        row["environ"] = None if environ is None else base64.b64encode(environ).decode()
    return row


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def start(stat: bytes | None) -> bytes | None:
    fields = (stat or b"").rpartition(b") ")[2].split()
    return fields[19] if len(fields) > 19 else None


def started(stat: bytes, booted: int | None) -> int | None:
    """Return the start in seconds since 1970."""
    ticks = start(stat)
    return None if booted is None or ticks is None else booted + int(ticks) // os.sysconf("SC_CLK_TCK")


def boot_time() -> int | None:
    for line in (read(PROC / "stat") or b"").splitlines():
        if line.startswith(b"btime "):
            return int(line.split()[1])
    return None


def paths_of(cgroup: bytes) -> str:
    """Keep one line a path: version 1 repeats the same one for each of a dozen controllers."""
    lines = {line.split(b":", 2)[-1]: line for line in cgroup.splitlines()}
    lines.pop(b"/", None)
    return text(b"\n".join(lines.values()))


def user_of(status: bytes) -> str | None:
    for line in status.splitlines():
        if line.startswith(b"Uid:"):
            uid = int(line.split()[1])
            try:
                return pwd.getpwuid(uid).pw_name
            except KeyError:
                return str(uid)
    return None


def mark_in(environ: bytes) -> str | None:
    for piece in environ.split(b"\0"):
        if piece.startswith(MARK):
            return text(piece[len(MARK) :])
    return None


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
