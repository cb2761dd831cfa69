"""Removes the trees of sessions: one of this gate's, or those that gates before it have left behind when they were killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import Any

MARKER = "made-by-tokgate"
PROC = Path("/proc")


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"parent", "only"} -> {"removed": [name], "left": {name: why}}; `only` None: all that nobody uses.

    Whoever asks holds the host's lease, so that no other gate is at work with these folders. Nothing is followed: what a
    link in a tree leads to stays, and a folder that has not the gate's own marker is none of its.
    """
    parent = Path(argument["parent"])
    removed: list[str] = []
    left: dict[str, str] = {}
    if parent.is_symlink() or not parent.is_dir():
        return {"removed": removed, "left": left}
    for entry in sorted(os.scandir(parent), key=lambda e: e.name):
        if argument["only"] not in (None, entry.name):
            continue
        why = why_not(Path(entry.path), ask_users=argument["only"] is None)
        if why is None:
            why = remove(Path(entry.path))
        if why is None:
            removed.append(entry.name)
        else:
            left[entry.name] = why
    with contextlib.suppress(OSError):
        parent.rmdir()  # where it is empty
    return {"removed": removed, "left": left}


def why_not(folder: Path, *, ask_users: bool) -> str | None:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder of a gate"
    if status.st_uid != os.geteuid():
        return f"it belongs to the user with the number {status.st_uid}"
    marker = folder / MARKER
    if marker.is_symlink() or not marker.is_file():
        return "it has not the mark of a gate"
    if ask_users and (pids := users(folder)):
        return f"processes still run from it: {', '.join(pids[:5])}"
    return None


def users(folder: Path) -> list[str]:
    """Return the processes whose environment, command line or working folder names it."""
    wanted = os.fsencode(str(folder))
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        told = b""
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                told += (entry / name).read_bytes()
        with contextlib.suppress(OSError):
            told += os.fsencode((entry / "cwd").readlink())
        if wanted in told:
            found.append(entry.name)
    return found


def remove(folder: Path) -> str | None:
    """Remove a folder without following a link. Return why something of it is still there."""
    if not shutil.rmtree.avoids_symlink_attacks:
        return "this Python cannot remove a folder without following links"
    for place, folders, _ in os.walk(folder):
        # What a server has made unwritable is the gate's own all the same.
        for name in folders:
            path = Path(place, name)
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(0o700)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return None
