"""What launches have left on this host: a folder each, which the gate removes when it has fetched the log."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from pathlib import Path
from typing import Any

PROC = Path("/proc")
# As server/launch.py names them: the mark of the launch, six characters more, and which node it was.
OURS = re.compile(r"[A-Za-z0-9_.-]+-[0-9a-f]{6}(?:-node\d+)?")


def main(argument: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """{"folder", "quiet_s", "owners", "remove"} -> {"removed", "left"}: rows {"name", "bytes", "quiet_s", "owner"} of what nobody uses.

    In use is what was written to less than `quiet_s` ago, what stands in the command line of a living process (its supervisor),
    and what one works in (its server). `owners`: runs whose gate is proven dead, of which nothing is waited for. `remove`: remove
    what this user's gates have made there, without following a link; whoever says so holds the host's lease.
    """
    folder = Path(argument["folder"])
    found: dict[str, list[dict[str, Any]]] = {"removed": [], "left": []}
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return found
    words = in_use() if names else b""
    dead = tuple(f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', owner)}-" for owner in argument["owners"])
    for name in names:
        row = look(folder / name)
        if row is None or os.fsencode(name) in words:
            continue
        if row["quiet_s"] > argument["quiet_s"] or (dead and name.startswith(dead)):
            gone = argument["remove"] and ours(folder / name) and removed(folder / name)
            found["removed" if gone else "left"].append(row)
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


def ours(folder: Path) -> bool:
    """Say whether a gate of this user has made it: by its name, and by the supervisor that it has brought."""
    try:
        supervisor = (folder / "supervisor.py").lstat()
        return (
            OURS.fullmatch(folder.name) is not None
            and folder.lstat().st_uid == os.geteuid() == supervisor.st_uid
            and stat.S_ISREG(supervisor.st_mode)
        )
    except OSError:
        return False


def removed(folder: Path) -> bool:
    if not shutil.rmtree.avoids_symlink_attacks:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not os.path.lexists(folder)


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
