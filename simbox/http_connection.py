"""HTTP/1.1 on a bare asyncio protocol: h11 reads what comes in, answers are written at once and whole.

A chunk is one `transport.write` at the moment the engine makes it; there is no task and no queue between the two,
so that a chunk's stamp in the truth file is the moment it left.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

import h11

Handler = Callable[["Exchange"], Awaitable[None]]


@dataclass
class Exchange:
    """One request and the way to answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    client: str
    keep_alive: bool
    _write: Callable[[bytes], None]
    _close: Callable[[], None]
    _abort: Callable[[], None]
    log: Callable[[str, str, str], None]  # client, "GET /path", "200 OK"
    closed: bool = False  # the client went away
    answered: bool = False
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(
        self, status: int, body: bytes = b"", kind: str | None = "application/json", **headers: str
    ) -> None:
        """Send a whole answer."""
        lines = {"content-length": str(len(body))} | ({"content-type": kind} if kind else {})
        self._head(status, lines | {k.replace("_", "-"): v for k, v in headers.items()})
        self._write(body)
        self._end()

    def answer_json(self, status: int, content: Any) -> None:
        self.answer(status, json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode())

    def stream(self) -> None:
        """Begin an answer of server-sent events."""
        self._head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})

    def event(self, data: bytes) -> None:
        """Send one chunk of a stream."""
        if not self.closed:
            self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        if not self.closed:
            self._write(b"0\r\n\r\n")
        self._end()

    def cut(self) -> None:
        """Break the connection off in the middle."""
        self.closed = True
        self._abort()
        self.finished.set()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        words = f"{status} {HTTPStatus(status).phrase}"
        self.log(self.client, f"{self.method} {self.path}", words)
        lines = {"date": formatdate(usegmt=True), "server": "uvicorn", "x-simulated": "simbox"} | headers
        if not self.keep_alive:
            lines["connection"] = "close"
        text = f"HTTP/1.1 {words}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n"
        self.answered = True
        self._write(text.encode("latin-1"))

    def _end(self) -> None:
        self.finished.set()
        if not self.keep_alive:
            self._close()


class HttpConnection(asyncio.Protocol):
    """One client's connection; requests on it are served one after the other."""

    def __init__(self, handler: Handler, log: Callable[[str, str, str], None]) -> None:
        self._handler, self._log = handler, log
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        self._transport: asyncio.Transport | None = None
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._serving: asyncio.Task[None] | None = None
        self._exchange: Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a TCP server gives
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._exchange is not None:
            self._exchange.closed = True
            self._exchange.finished.set()

    def data_received(self, data: bytes) -> None:
        self._h11.receive_data(data)
        if self._serving is None:
            self._read()

    def _read(self) -> None:
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError:
                self._send(
                    b"HTTP/1.1 400 Bad Request\r\ncontent-length: 29\r\nconnection: close\r\n\r\nInvalid HTTP request received"
                )
                self._close()
                return
            if isinstance(event, h11.Request):
                self._head, self._body = event, bytearray()
                if any(k == b"expect" for k, _ in event.headers):
                    self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self._serving = asyncio.get_running_loop().create_task(self._serve())
                return
            else:  # NEED_DATA, PAUSED, ConnectionClosed
                return

    async def _serve(self) -> None:
        head, transport = self._head, self._transport
        if head is None or transport is None:
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in head.headers}
        host, port = (transport.get_extra_info("peername") or ("?", 0))[:2]
        target = head.target.decode("latin-1")
        exchange = Exchange(
            method=head.method.decode("ascii"),
            path=target.split("?", 1)[0],
            headers=headers,
            body=bytes(self._body),
            client=f"{host}:{port}",
            keep_alive=headers.get("connection", "").lower() != "close" and head.http_version == b"1.1",
            _write=self._send,
            _close=self._close,
            _abort=transport.abort,
            log=self._log,
        )
        self._exchange = exchange
        try:
            await self._handler(exchange)
        except Exception:  # noqa: BLE001 - a server answers 500 whatever went wrong
            if exchange.answered:
                exchange.cut()
            else:
                exchange.answer(500, b"Internal Server Error", "text/plain; charset=utf-8")
        self._exchange = self._serving = None
        if exchange.closed or not exchange.keep_alive:
            return
        # h11 only reads here; it is told that the answer went out.
        self._h11.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        self._h11.send(h11.EndOfMessage())
        self._h11.start_next_cycle()
        self._read()

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
