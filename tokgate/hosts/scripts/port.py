"""Tells whether a TCP port of this machine is free for a server, and if not, who listens on it."""

from __future__ import annotations

import contextlib
import errno
import socket
from pathlib import Path
from typing import Any

LISTEN = "0A"


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"port"} -> {"free": true, false or null (may not be tried), "why", "pids"}."""
    port = argument["port"]
    for family, everywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104 - never listens
        try:
            try_to_bind(family, everywhere, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return {"free": False, "why": error.strerror, "pids": listeners(port)}
            if family == socket.AF_INET:
                return {"free": None, "why": error.strerror, "pids": listeners(port)}
            # A machine without IPv6.
    return {"free": True, "why": None, "pids": []}


def try_to_bind(family: int, address: str, port: int) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: what lingers in TIME_WAIT is no obstacle, a listener on any address is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        probe.bind((address, port))


def listeners(port: int) -> list[int]:
    """Return who has a listening socket on the port, as far as /proc may be read."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    numbers = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return sorted(int(n) for n in numbers if inodes & set(links(Path("/proc") / n / "fd")))


def links(folder: Path) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            with contextlib.suppress(OSError):
                found.append(str(entry.readlink()))
    return found
