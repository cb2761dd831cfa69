"""An end to a whole HTTP call, whatever the server does meanwhile.

Timeouts of a read begin anew with every byte: a server that drips its headers keeps a client for ever. What ends that
from outside is the socket being shut under it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

# The client's own timeouts of silence come first: they can tell it from dripping.
GRACE_S = 0.25


class Deadline:
    """Shuts the call's connection `GRACE_S` after its limit; a context around the call, and its `trace` extension."""

    def __init__(self, limit_s: float) -> None:
        self._over = threading.Event()
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(limit_s + GRACE_S, self._end)
        self._timer.daemon = True

    @property
    def over(self) -> bool:
        """Whether it has passed: what the call then raised followed from that."""
        return self._over.is_set()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Learn the connection as soon as there is one (httpx hands `extensions["trace"]` on to httpcore)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            sock = info["return_value"].get_extra_info("socket")
            if isinstance(sock, socket.socket):
                self._sockets.append(sock)
                if self.over:  # it passed between the connection and this line
                    self._end()

    def _end(self) -> None:
        self._over.set()
        for sock in self._sockets:
            with suppress(OSError):  # closed already
                sock.shutdown(socket.SHUT_RDWR)
