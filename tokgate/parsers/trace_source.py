"""The events of a trace in Chrome's format, out of pieces of a file that may be packed: never held as a whole."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Iterable, Iterator

LIMIT_BYTES = 1 << 30  # of unpacked text
MOST_PACKED = 100  # times smaller a trace may be packed than it is; real ones are, some twenty times
ALWAYS_BYTES = 4 << 20  # of unpacked text that are read however small they are packed
MAX_EVENTS = 4_000_000
MAX_EVENT = 1 << 20  # characters of one event; real ones have a few hundred
MAX_HEAD = 4 << 20  # characters in front of the events
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_RANK = re.compile(r'"distributedInfo"\s*:\s*\{[^{}]{0,500}?"rank"\s*:\s*([0-9]{1,6})')
_BLANK = re.compile(r"[ \t\r\n,]*")
_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


class TraceSource:
    """One trace, an event at a time.

    `rank`: by the trace's own word, known once the events are through. `why`: what ended it before its end, in words;
    `near`: the text that stands there.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._texts = self._unpacked(pieces)
        self._text = ""
        self.rank: int | None = None
        self.why: str | None = None
        self.near = ""

    def events(self) -> Iterator[object]:
        if not self._head():
            return
        decoder, position, count = json.JSONDecoder(), 0, 0
        while True:
            position = self._skip(position)
            if self._text[position : position + 1] == "]":
                self._tail(position)
                return
            try:
                event, position = decoder.raw_decode(self._text, position)
            except RecursionError:
                self._end("an event that is nested too deeply", position)
                return
            except ValueError:
                self._text, position = self._text[position:], 0
                if len(self._text) > MAX_EVENT or not self._more():
                    self._end("torn: an event has no end", 0)
                    return
                continue
            count += 1
            if count > MAX_EVENTS:
                self._end("more events than are read", position)
                return
            yield event

    def _head(self) -> bool:
        while (match := _EVENTS.search(self._text)) is None:
            if len(self._text) > MAX_HEAD or not self._more():
                self._end("no traceEvents in it", 0)
                return False
        self._name_rank(self._text[: match.start()])
        self._text = self._text[match.end() :]
        return True

    def _tail(self, position: int) -> None:
        if self.rank is not None:
            return
        while len(self._text) < MAX_HEAD and self._more():
            pass
        self._name_rank(self._text[position:])

    def _name_rank(self, text: str) -> None:
        if match := _RANK.search(text):
            self.rank = int(match[1])

    def _skip(self, position: int) -> int:
        """Return where the next event begins; what lies before it is let go now and then."""
        while True:
            match = _BLANK.match(self._text, position)
            position = match.end() if match else position
            if position < len(self._text):
                break
            self._text, position = "", 0
            if not self._more():
                break
        if position > _PIECE:
            self._text, position = self._text[position:], 0
        return position

    def _more(self) -> bool:
        piece = next(self._texts, None)
        if piece is None:
            return False
        self._text += piece
        return True

    def _end(self, why: str, position: int) -> None:
        self.why = self.why or why
        self.near = self._text[position : position + 200]

    def _unpacked(self, pieces: Iterable[bytes]) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        total = 0
        for raw in self._plain(pieces):
            total += len(raw)
            if total > LIMIT_BYTES:
                self.why = f"more than {LIMIT_BYTES >> 20} MiB of text"
                return
            if text := decoder.decode(raw):
                yield text

    def _plain(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        inflater: zlib._Decompress | None = None
        head: bytes | None = b""
        came = made = 0
        for piece in pieces:
            packed = piece
            if head is not None:
                head += piece
                if len(head) < len(_GZIP):
                    continue
                packed, head = head, None
                if packed.startswith(_GZIP):
                    inflater = zlib.decompressobj(wbits=31)
            if inflater is None:
                yield packed
                continue
            rest, came = packed, came + len(packed)
            while rest:
                try:
                    raw = inflater.decompress(rest, _PIECE)
                except zlib.error as error:
                    self.why = f"no whole gzip: {error}"
                    return
                made += len(raw)
                if made > ALWAYS_BYTES + MOST_PACKED * came:
                    self.why = (
                        f"packed more than {MOST_PACKED} times smaller than it is: no trace of a profiler"
                    )
                    return
                yield raw
                rest = inflater.unconsumed_tail
