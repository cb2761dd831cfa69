"""A server over several boxes: node 0 waits for the others at --dist-init-addr, tells them of every step, and they end with it.

One TCP connection a node, between the main processes; each message is a line of JSON, followed by as many bytes as it says.
All boxes are on one machine: steps are told by its monotonic clock.
What runs on a further node is told to it by node 0, as NCCL and gloo would carry it; when the connection breaks, each side
ends as SGLang does when gloo says that its peer is gone.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simbox.acceptance import Pin
from simbox.rank import RankReady
from simbox.step_feed import Feed

# torch.distributed's own default for a store that nobody joins.
TIMEOUT_S = 600.0
POLL_S = 0.2
LOAD_S = 0.25


class NotMetError(Exception):
    """The nodes did not find each other; the message is torch's."""


class Line:
    """One connection to another node."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rb")
        self._sending = threading.Lock()
        self.peer = "[{}]:{}".format(*connection.getpeername()[:2])

    def send(self, kind: str, payload: bytes = b"", **more: Any) -> None:
        """Silent when the other side is gone: its reader says so."""
        head = json.dumps({"kind": kind, "bytes": len(payload), **more}).encode() + b"\n"
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(head + payload)

    def receive(self) -> tuple[dict[str, Any], bytes] | None:
        """Wait for a message; None: the other side is gone."""
        try:
            head = self._file.readline()
            told = json.loads(head) if head.endswith(b"\n") else None
            return None if told is None else (told, self._file.read(told["bytes"]))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


def parted(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def wait_for_all(address: str, nodes: int, *, alive: Callable[[], bool]) -> list[Line]:
    """Listen as node 0 until every further node has come; return their lines by rank. NotMetError."""
    host, port = parted(address)
    end = time.monotonic() + TIMEOUT_S
    found: dict[int, Line] = {}
    with socket.create_server((host, port), family=_family(host)) as door:
        door.settimeout(POLL_S)
        while len(found) < nodes - 1:
            if not alive() or time.monotonic() > end:
                raise NotMetError(
                    f"torch.distributed.DistStoreError: Timed out after {TIMEOUT_S:.0f} seconds waiting for clients. "
                    f"{len(found) + 1}/{nodes} clients joined."
                )
            with contextlib.suppress(TimeoutError):
                connection, _ = door.accept()
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                line = Line(connection)
                told = line.receive()
                if told is not None and told[0].get("kind") == "join":
                    found[int(told[0]["node"])] = line
    return [found[rank] for rank in sorted(found)]


def join(address: str, node: int, *, alive: Callable[[], bool]) -> Line:
    """Go to node 0. NotMetError."""
    host, port = parted(address)
    end = time.monotonic() + TIMEOUT_S
    while alive() and time.monotonic() < end:
        with contextlib.suppress(OSError):
            connection = socket.create_connection((host, port), timeout=5.0)
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(connection)
            line.send("join", node=node)
            return line
        time.sleep(POLL_S)
    raise NotMetError(
        "torch.distributed.DistNetworkError: The client socket has timed out after "
        f"{TIMEOUT_S * 1000:.0f}ms while trying to connect to ({host}, {port})."
    )


def told_ready(line: Line) -> list[RankReady] | None:
    """Wait for what a further node's ranks have become; None: it is gone."""
    told = line.receive()
    if told is None or told[0].get("kind") != "ready":
        return None
    return [
        RankReady(**{**one, "pin": None if one["pin"] is None else Pin(**one["pin"])})
        for one in told[0]["ranks"]
    ]


def tell_ready(line: Line, ready: Sequence[RankReady]) -> None:
    line.send("ready", ranks=[asdict(one) for one in ready])


class JoinedFeed(Feed):
    """Steps for this node's ranks through their pipes, and for the others' over the network."""

    def __init__(self, local: Feed, lines: Sequence[Line], first: int, each: int) -> None:
        super().__init__(())
        self._local, self._lines, self._first, self._each = local, tuple(lines), first, each

    def tell(self, records: Sequence[bytes]) -> None:
        self._local.tell(records[: self._first])
        for number, line in enumerate(self._lines):
            begin = self._first + number * self._each
            line.send("steps", b"".join(records[begin : begin + self._each]), ranks=self._each)


def tell_load(lines: Sequence[Line], load: Any) -> None:
    for line in lines:
        line.send("load", load=list(load))


def hand_over(line: Line, path: Path, content: bytes) -> None:
    """Have a file written by the node whose rank it is of."""
    line.send("file", content, path=str(path))


def keep_file(path: str, content: bytes) -> None:
    with contextlib.suppress(OSError):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)


def peer_gone(line: Line) -> str:
    """Return what a scheduler says when its next collective finds nobody there."""
    return f"RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer {line.peer}"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
