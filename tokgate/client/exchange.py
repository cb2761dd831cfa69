"""What goes out to a server and what came back, before anything is read in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tokgate.records import GenerationStatus

Endpoint = Literal["generate", "completions", "chat"]

PATHS: Mapping[Endpoint, str] = {
    "generate": "/generate",
    "completions": "/v1/completions",
    "chat": "/v1/chat/completions",
}

# One arrival: nanoseconds of the monotonic clock, and the bytes as the kernel gave them.
Piece = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """A server as reached from here: `host` is a name or an address, IPv6 without brackets."""

    host: str
    port: int
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    request_id: str
    endpoint: Endpoint
    payload: Mapping[str, Any]
    asked_tokens: int


@dataclass(frozen=True, slots=True)
class RawResponse:
    """One exchange as it happened; nanoseconds of this machine's monotonic clock.

    `kind` is what the connection alone could tell: REFUSED, TIMED_OUT, CUT (reset, or given up on
    because `should_stop` said so), GARBLED (over the size limit), or None for a stream that ended in order.
    """

    request: Request
    sent_ns: int  # last byte of the request handed to the kernel; when refused: when that was known
    first_byte_ns: int | None
    end_ns: int  # end of stream as the connection saw it, or when it failed
    pieces: tuple[Piece, ...]
    status: int | None  # of the HTTP status line; None: no readable status line
    error: str | None
    kind: GenerationStatus | None

    @property
    def wire(self) -> bytes:
        """Every byte received, head included: what is kept as bodies/NNN.sse."""
        return b"".join(data for _, data in self.pieces)


def request_bytes(target: Target, request: Request) -> bytes:
    """Return the whole HTTP/1.1 request.

    `Connection: close` makes the end of the stream visible without reading it, and identity encoding
    keeps one event one write: a compressing server would hold events back.
    """
    body = json.dumps(dict(request.payload)).encode()
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [
        f"POST {PATHS[request.endpoint]} HTTP/1.1",
        f"Host: {host}:{target.port}",
        "Connection: close",
        "Accept: text/event-stream",
        "Accept-Encoding: identity",
        "User-Agent: tokgate",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    if target.api_key is not None:
        lines.append(f"Authorization: Bearer {target.api_key}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
