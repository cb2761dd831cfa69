"""Read HTTP/1.1 afterwards, from the bytes that were kept while the stream ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import h11

from .exchange import Piece

HEAD_LIMIT = 64 * 1024  # bytes of head, or of one chunk's header, before it counts as garbage
# A stream of one event a token never comes near these; a hostile one would keep us reading for minutes.
DATA_LIMIT = 250_000  # stretches of body
INTERIM_LIMIT = 100  # 1xx responses

_REQUEST = h11.Request(method="POST", target="/", headers=[("Host", "server"), ("Content-Length", "0")])


@dataclass(frozen=True, slots=True)
class HttpReading:
    """`body` keeps arrival times; `garbled` and `cut` say why the message is not whole."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: tuple[Piece, ...] = ()
    complete: bool = False
    garbled: str | None = None
    cut: str | None = None
    trailing: bool = False  # bytes came after the end of the message

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)


def status_of(pieces: Sequence[Piece]) -> int | None:
    """Return the status code of the final response's status line, or None where none can be read."""
    return read_response(_head_only(pieces), closed=False).status


def read_response(pieces: Iterable[Piece], *, closed: bool) -> HttpReading:
    """Take the response apart; `closed` says that the server ended the connection in order.

    h11 decides what is HTTP. Whatever arrives, the result is a reading and never an exception.
    """
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
    connection.send(_REQUEST)
    connection.send(h11.EndOfMessage())
    reader = _Reader(connection)
    for arrival_ns, data in pieces:
        if not reader.take(arrival_ns, data):
            return reader.reading()
    if closed:
        reader.close()
    elif not reader.complete:
        reader.cut = "the response did not end"
    return reader.reading()


def ended_without_close(pieces: Sequence[Piece]) -> bool:
    """Return whether the message is whole although the server keeps the connection open.

    Asked while other streams run, so the cheap signs come first.
    """
    if not pieces:
        return False
    head = _final_head(b"".join(data for _, data in _head_only(pieces)))
    if head is None:
        return False
    head = head.lower()
    if b"chunked" in head:
        tail = b"".join(data for _, data in pieces[-5:])[-5:]
        if tail != b"0\r\n\r\n":
            return False
    elif b"content-length" not in head:
        return False
    return read_response(pieces, closed=False).complete


def _head_only(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the first pieces, up to the end of the final response's head or the limit of one."""
    kept: list[Piece] = []
    seen = bytearray()
    for arrival_ns, data in pieces:
        kept.append((arrival_ns, data))
        # The blank line may straddle the seam.
        fresh = b"\r\n\r\n" in seen[-3:] + data
        seen += data
        if (fresh and _final_head(bytes(seen)) is not None) or len(seen) > HEAD_LIMIT:
            break
    return kept


def _final_head(seen: bytes) -> bytes | None:
    """Return the head of the response proper: interim ones (100 Continue) have heads of their own."""
    head, end, rest = seen.partition(b"\r\n\r\n")
    while end and head.startswith(b"HTTP/1.1 1"):
        head, end, rest = rest.partition(b"\r\n\r\n")
    return head if end else None


class _Reader:
    def __init__(self, connection: h11.Connection) -> None:
        self._connection = connection
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._body: list[Piece] = []
        self._interim = 0
        self._trailing = False
        self._garbled: str | None = None
        self._start = b""
        self.complete = False
        self.cut: str | None = None

    def take(self, arrival_ns: int, data: bytes) -> bool:
        """Feed one piece; False when nothing after it matters."""
        if self.complete:
            self._trailing = True
            return False
        # h11 would wait for a whole head before it looks.
        self._start += data[: max(0, 5 - len(self._start))]
        if not b"HTTP/".startswith(self._start):
            self._garbled = f"not HTTP/1.1: it begins with {self._start!r}"
            return False
        try:
            self._connection.receive_data(data)
            while self._next(arrival_ns):
                pass
        except h11.RemoteProtocolError as error:
            self._garbled = f"not HTTP/1.1: {error}"
        if self._garbled is None and len(self._body) > DATA_LIMIT:
            self._garbled = f"more than {DATA_LIMIT} stretches of body"
        return self._garbled is None

    def _next(self, arrival_ns: int) -> bool:
        event = self._connection.next_event()
        if isinstance(event, h11.Data):
            self._body.append((arrival_ns, bytes(event.data)))
            return len(self._body) <= DATA_LIMIT
        if isinstance(event, h11.Response):
            self._status = event.status_code
            self._headers = tuple(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers
            )
            return True
        if isinstance(event, h11.InformationalResponse):
            self._interim += 1
            if self._interim > INTERIM_LIMIT or event.status_code == 101:
                self._garbled = "endless interim responses, or another protocol"
                return False
            return True
        if isinstance(event, h11.EndOfMessage):
            self.complete = True
            self._trailing = bool(self._connection.trailing_data[0])
        return False

    def close(self) -> None:
        """The server closed: the end of a body without a length, or too early for any other."""
        if self.complete:
            return
        try:
            self._connection.receive_data(b"")
            while self._next(self._body[-1][0] if self._body else 0):
                pass
        except h11.RemoteProtocolError as error:
            self.cut = f"closed before the response was whole: {error}"
            return
        if not self.complete:
            self.cut = "closed before the response was whole"

    def reading(self) -> HttpReading:
        return HttpReading(
            status=self._status,
            headers=self._headers,
            body=tuple(self._body),
            complete=self.complete and self._garbled is None,
            garbled=self._garbled,
            cut=self.cut,
            trailing=self._trailing,
        )
