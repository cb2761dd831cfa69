"""What a launch asks of its host; runs there, standard library only, Python >= 3.9.

main({"names": [...], "port": 8000 or null}) -> {"environment": {name: value}, "port": a port that is free now,
"listeners": who has the given one}; main({"port": 8000}) -> {"listeners": [...]}. A listener is
{"pid", "start_ticks", "sid", "comm", "mark"}, each null where /proc does not tell.
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import Any

_LISTEN = "0A"  # include/net/tcp_states.h


def main(argument: dict[str, Any]) -> dict[str, Any]:
    port = argument.get("port")
    answer: dict[str, Any] = {"listeners": listeners(port) if port else []}
    if "names" in argument:
        answer["environment"] = {name: os.environ[name] for name in argument["names"] if name in os.environ}
        answer["port"] = port or free_port()
    return answer


def free_port() -> int:
    """Return a port that nobody has at this moment; whether the server got it is checked afterwards."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def listeners(port: int) -> list[dict[str, Any]]:
    wanted = {f"socket:[{inode}]" for inode in listening(port)}
    if not wanted:
        return []
    processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found = [describe(entry) for entry in processes if wanted & sockets_of(entry)]
    # Nobody: they are another user's, whose open files cannot be seen.
    return found or [{"pid": None, "start_ticks": None, "sid": None, "comm": None, "mark": None}]


def listening(port: int) -> set[str]:
    """Return the inodes of the TCP sockets that listen on `port`, on any address."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            field = line.split()
            if field[3] == _LISTEN and int(field[1].rpartition(":")[2], 16) == port:
                inodes.add(field[9])
    return inodes


def sockets_of(entry: Path) -> set[str]:
    found = set()
    try:
        for handle in (entry / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(os.readlink(handle))  # noqa: PTH115 - Path.readlink reads "socket:[1]" as a path
    except OSError:
        return found
    return found


def describe(entry: Path) -> dict[str, Any]:
    told: dict[str, Any] = {
        "pid": int(entry.name),
        "start_ticks": None,
        "sid": None,
        "comm": None,
        "mark": None,
    }
    try:
        head, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
        told.update(comm=head.partition("(")[2], sid=int(rest.split()[3]), start_ticks=int(rest.split()[19]))
        for variable in (entry / "environ").read_bytes().split(b"\0"):
            if variable.startswith(b"TOKGATE_MARK="):
                told["mark"] = variable.partition(b"=")[2].decode("utf-8", "replace")
    except OSError:
        pass
    return told
