"""One request under way: its socket, what is left to send, what has arrived."""

from __future__ import annotations

import errno
import os
import socket
import time

from tokgate.records import GenerationStatus

from .exchange import Piece, RawResponse, Request, Target
from .http_response import status_of

Addresses = list[tuple[socket.AddressFamily, tuple[object, ...]]]


class InFlight:
    """One request on its way. Open until `finish`."""

    __slots__ = (
        "_addresses",
        "_kind",
        "_sent",
        "_wire",
        "end_ns",
        "error",
        "has_head",
        "held",
        "limit",
        "pieces",
        "receive",
        "request",
        "seen_at_tick",
        "sent_ns",
        "sock",
    )

    def __init__(self, request: Request, wire: bytes, limit: int) -> None:
        self.request = request
        self.limit = limit
        self.sock: socket.socket | None = None
        self.pieces: list[Piece] = []
        self.held = 0
        self.sent_ns: int | None = None
        self.end_ns: int | None = None
        self.error: str | None = None
        self.seen_at_tick = -1
        self.has_head = False
        self._wire = wire
        self._sent = 0
        self._kind: GenerationStatus | None = None
        self._addresses: Addresses = []

    def open(self, addresses: Addresses) -> bool:
        """Begin to connect to the first address that lets us; False when none is left."""
        self._addresses = addresses
        while self._addresses:
            family, address = self._addresses[0]
            self._addresses = self._addresses[1:]
            try:
                sock = socket.socket(family, socket.SOCK_STREAM)
            except OSError as error:  # out of file descriptors
                self.error = words(error)
                continue
            sock.setblocking(False)
            try:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.connect(address)
            except BlockingIOError:
                pass
            except OSError as error:
                sock.close()
                self.error = words(error)
                continue
            self.sock = sock
            self.receive = sock.recv
            return True
        return False

    def connected(self) -> bool | None:
        """After the socket became writable: True connected, None trying the next address, False refused."""
        if self.sock is None:
            return False
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code == 0:
            self.error = None
            return True
        self.error = words(OSError(code, ""))
        self.sock.close()
        self.sock = None
        return None if self.open(self._addresses) else False

    def send(self) -> bool:
        """Hand over what the kernel takes; True when nothing is left to send."""
        if self.sock is None:
            return True
        try:
            self._sent += self.sock.send(memoryview(self._wire)[self._sent :])
        except BlockingIOError:
            return False
        except OSError:
            # The server stopped reading; what it answered, if anything, is still to be received.
            self._sent = len(self._wire)
        if self._sent < len(self._wire):
            return False
        self.sent_ns = time.monotonic_ns()
        return True

    def finish(self, kind: GenerationStatus | None, error: str | None, now_ns: int) -> None:
        if self.end_ns is not None:
            return
        self.end_ns = now_ns
        self._kind = kind
        self.error = error
        self.shut()

    def shut(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def events(self) -> int:
        """SSE events received, by their blank lines: JSON never holds a raw one."""
        return sum(data.count(b"\n\n") for _, data in self.pieces)

    def response(self) -> RawResponse:
        end_ns = self.end_ns if self.end_ns is not None else time.monotonic_ns()
        return RawResponse(
            request=self.request,
            sent_ns=self.sent_ns if self.sent_ns is not None else end_ns,
            first_byte_ns=self.pieces[0][0] if self.pieces else None,
            end_ns=end_ns,
            pieces=tuple(self.pieces),
            status=status_of(self.pieces),
            error=self.error,
            kind=self._kind,
        )

    @property
    def size(self) -> int:
        return sum(len(data) for _, data in self.pieces)

    @property
    def progress(self) -> str:
        """Say how far the response had come."""
        if not self.pieces:
            return "(no byte received)"
        return f"({self.size} bytes in {len(self.pieces)} pieces received)"


def resolve(target: Target) -> tuple[Addresses, str | None]:
    """Return the addresses of a server, or none and why."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return [], f"{target.host}: {error}"
    return [(family, address) for family, _, _, _, address in found], None


def words(error: OSError) -> str:
    code = error.errno
    if code is None:
        return str(error)
    return f"{errno.errorcode.get(code, code)}: {os.strerror(code)}"
