"""Keeps rows of telemetry while they come: counted, bounded, written about once a second.

Writing has a thread of its own. A disk that stands still for seconds (seen on a busy machine) must not hold up the
threads that stamp rows as they arrive.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tokgate.records import Unread
from tokgate.records.telemetry import TelemetryRow

# Five rows a second of eight GPUs are 7 MB an hour.
LIMIT_BYTES = 64 * 1024 * 1024
FLUSH_S = 1.0
# Generations are written to the same folder: a disk that takes longer has ended the session already.
DISK_S = 30.0
_MOST_UNREAD = 10

Write = Callable[[str], None]


class RowKeeper:
    """`write` gets whole lines of JSON, in the keeper's own thread. Any thread may call; nothing here raises."""

    def __init__(self, write: Write, *, limit_bytes: int = LIMIT_BYTES, flush_s: float = FLUSH_S) -> None:
        self._write = write
        self._room = limit_bytes
        self._lock = threading.Condition()
        self._waiting: list[str] = []
        self._flush_s = flush_s
        self._closed = False
        self._first = {"gpus": threading.Event(), "host": threading.Event()}
        self._span: dict[str, tuple[int, int]] = {}
        self._silence: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.dropped = 0
        self.missing: dict[str, str] = {}
        self.problems: list[str] = []
        self.unread: list[Unread] = []
        self._writer = threading.Thread(target=self._write_on, daemon=True, name="tokgate-telemetry-writer")
        self._writer.start()

    def keep(self, row: TelemetryRow) -> None:
        line = row.model_dump_json(exclude_none=True) + "\n"
        with self._lock:
            if self._closed:
                return
            if len(line) > self._room:
                self.dropped += 1
                return
            self._room -= len(line)
            self.rows[row.kind] += 1
            before = self._span.get(row.kind, (0, row.at_ns))[1]
            self._silence[row.kind] = max(self._silence[row.kind], row.at_ns - before)
            self._span[row.kind] = (self._span.get(row.kind, (row.at_ns, 0))[0], row.at_ns)
            self._waiting.append(line)
            self._lock.notify_all()
        self.give_up(row.kind)

    def hz(self) -> dict[str, float]:
        """Return rows a second of each kind that comes regularly and had two at least."""
        return {
            kind: round((self.rows[kind] - 1) / (last - first) * 1e9, 3)
            for kind, (first, last) in self._span.items()
            if last > first and kind != "process"
        }

    def longest_silence_s(self, kind: str, now_ns: int) -> float:
        """Return the longest time without a row of a kind, from the first one on; 0 where none ever came."""
        with self._lock:
            if kind not in self._span:
                return 0.0
            return max(self._silence[kind], now_ns - self._span[kind][1]) / 1e9

    def lacks(self, missing: Mapping[str, str]) -> None:
        """Note what an answer did not tell; the first reason is kept."""
        self.missing = {**missing, **self.missing}

    def problem(self, words: str) -> None:
        if words not in self.problems:
            self.problems.append(words)

    def odd(self, unread: Sequence[Unread]) -> None:
        self.unread += unread[: max(0, _MOST_UNREAD - len(self.unread))]

    def wait_for_first(self, kind: str, limit_s: float) -> bool:
        """Wait for the first "gpus" or "host" row."""
        return self._first[kind].wait(limit_s)

    def wait_for_next(self, kind: str, limit_s: float) -> None:
        """Wait for one more row: what was measured last is to be enclosed by rows."""
        with self._lock:
            have = self.rows[kind]
            self._lock.wait_for(lambda: self.rows[kind] > have or self._closed, limit_s)

    def give_up(self, kind: str) -> None:
        """Let nobody wait for a first row any longer: it has come, or its source has ended."""
        if (first := self._first.get(kind)) is not None:
            first.set()

    def close(self) -> None:
        """Write what waits; rows that still come (of a thread that a driver held) are no longer kept."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._writer.join(DISK_S)
        if self._writer.is_alive():
            self.problem(f"the last rows could not be written within {DISK_S:g} s: the disk hangs")

    def _write_on(self) -> None:
        over = False
        while not over:
            with self._lock:
                self._lock.wait_for(lambda: self._closed, self._flush_s)
                over = self._closed
                text, self._waiting = "".join(self._waiting), []
            try:
                if text:
                    self._write(text)
            except OSError as error:
                # The measurement stands without its telemetry.
                self.problem(f"rows could not be written: {error}")
                with self._lock:
                    over = self._closed = True
