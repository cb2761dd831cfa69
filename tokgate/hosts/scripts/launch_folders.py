"""What launches have left on this host: a folder each, which the gate removes when it has fetched the log."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

PROC = Path("/proc")
MARK = b"TOKGATE_MARK="


def main(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """{"folder", "quiet_s"} -> [{"name", "bytes", "quiet_s", "owner"}]: those nobody uses any more.

    In use is what was written to less than `quiet_s` ago, what stands in the command line of a living
    process (its supervisor), and what one works in (its server).
    """
    folder = Path(argument["folder"])
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return []
    found = []
    words = in_use() if names else b""
    for name in names:
        row = look(folder / name)
        if row is not None and row["quiet_s"] > argument["quiet_s"] and name.encode() not in words:
            found.append(row)
    return found


def look(folder: Path) -> dict[str, Any] | None:
    try:
        newest, size = folder.stat().st_mtime, 0
        for path in folder.rglob("*"):
            status = path.lstat()
            newest, size = max(newest, status.st_mtime), size + status.st_size
        owner = folder.stat().st_uid
    except OSError:
        return None
    return {"name": folder.name, "bytes": size, "quiet_s": time.time() - newest, "owner": owner}


def in_use() -> bytes:
    """Return the command line and the working folder of every process that shows them."""
    lines = []
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            for read in (command, directory):
                try:
                    lines.append(read(entry))
                except OSError:
                    continue
    return b"\n".join(lines)


def command(entry: Path) -> bytes:
    return (entry / "cmdline").read_bytes()


def directory(entry: Path) -> bytes:
    return os.fsencode((entry / "cwd").readlink())
