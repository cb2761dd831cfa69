"""Server-sent events from stamped pieces of a body."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokgate.records import Record, Unread

from .foreign_json import shown, unread

DONE = "[DONE]"
EVENT_LIMIT = 250_000  # one event a token; nobody generates that many
UNREAD_LIMIT = 20

# A whole run at once: megabytes of nothing but line ends are read in no time.
_BLANK = re.compile(rb"\n\n+")


class SseEvent(Record):
    arrival_ns: int  # of the piece that completed the event
    data: str
    name: str = ""  # the `event:` field; SGLang names only its token id events


class SseStream(Record):
    """`done`: the stream said [DONE]; `rest`: what came after the last blank line."""

    events: tuple[SseEvent, ...] = ()
    done: bool = False
    done_ns: int | None = None
    rest: bytes = b""
    unread: tuple[Unread, ...] = ()


def split_events(chunks: Sequence[tuple[int, bytes]]) -> SseStream:
    """Return the events of a body that arrived as (arrival_ns, bytes), any way it was cut.

    Line ends may be LF, CRLF or CR. Comments and fields other than data and event are skipped; a line that
    is no field at all, bytes that are not UTF-8 and events after [DONE] are reported as unread.
    """
    reader = _Reader()
    buffer = bytearray()  # everything after the last complete event, line ends made LF
    scanned = 0  # no blank line begins before this
    after_cr = False  # the last piece ended in a CR, which is half of a CRLF if an LF follows
    for arrival_ns, data in chunks:
        text = data.removeprefix(b"\n") if after_cr else data
        after_cr = data.endswith(b"\r") or (after_cr and not data)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer += text
        begin = 0
        while not reader.full and (blank := _BLANK.search(buffer, scanned)) is not None:
            if blank.start() > begin:
                reader.take(arrival_ns, bytes(buffer[begin : blank.start()]))
            begin = scanned = blank.end()
        del buffer[:begin]
        # A blank line may straddle two pieces.
        scanned = max(len(buffer) - 1, 0)
        if reader.full:
            break
    return reader.stream(bytes(buffer))


class _Reader:
    def __init__(self) -> None:
        self._events: list[SseEvent] = []
        self._done_ns: int | None = None
        self._unread: list[Unread] = []

    @property
    def full(self) -> bool:
        return len(self._events) >= EVENT_LIMIT

    def take(self, arrival_ns: int, block: bytes) -> None:
        data: list[str] = []
        name = ""
        for raw in block.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            field, colon, value = self._text(raw).partition(":")
            value = value.removeprefix(" ")
            if field == "data" and colon:
                data.append(value)
            elif field == "event":
                name = value
            elif field not in ("", "id", "retry"):
                self._note(raw, "not a field of an event stream")
        if not data:
            return
        text = "\n".join(data)
        if self._done_ns is not None:
            self._note(text, "after [DONE]")
        elif text == DONE:
            self._done_ns = arrival_ns
        else:
            self._events.append(SseEvent(arrival_ns=arrival_ns, data=text, name=shown(name)))

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self._note(repr(raw[:200]), f"not UTF-8: {error.reason}")
            return raw.decode(errors="replace")

    def _note(self, text: object, why: str) -> None:
        if len(self._unread) < UNREAD_LIMIT:
            self._unread.append(unread(repr(text) if isinstance(text, bytes) else text, why))

    def stream(self, rest: bytes) -> SseStream:
        if self.full:
            self._note("", f"more than {EVENT_LIMIT} events: the remainder was not read")
        return SseStream(
            events=tuple(self._events),
            done=self._done_ns is not None,
            done_ns=self._done_ns,
            rest=rest.strip(b"\n"),
            unread=tuple(self._unread),
        )
