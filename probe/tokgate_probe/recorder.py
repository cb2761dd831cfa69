"""Keeps finished spans and writes them down, from a thread of its own.

The hooked call only appends to a queue of fixed length. A disk that is slow, full or gone costs records,
which are counted, never the server's time.

Lines of phases-PID.jsonl, one JSON value each:
    {"probe": 1, "pid": …, "rank": …, "mark": …, "clock": "cuda-events" | "host", "hooked": […], "missing": […],
     "switch": true | false, "monotonic_ns": …}                            first
    ["verify", 5.359, 1, 1, 123456789]      phase, milliseconds, requests in the batch, ran in a CUDA graph
                                            (1, 0 or null: not told), host's monotonic ns at its start
    {"dropped": 3, "why": "queue full"}     whenever the count has grown, and at the end
    {"end": true, "written": 4711, "dropped": 3}
"""

from __future__ import annotations

import json
import threading
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

from tokgate_probe.clocks import Span

QUEUE = 65536  # spans; at 50 cycles a second of four phases five minutes of a disk that does not answer
FLUSH_S = 0.2
LIMIT_BYTES = 64 * 1024 * 1024


class Finished(NamedTuple):
    phase: str
    span: Span
    requests: int | None
    graph: bool | None
    began_ns: int


class Recorder:
    def __init__(self, path: Path, header: dict[str, Any], *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._header = header
        self._left = limit_bytes
        self._queue: deque[Finished] = deque()
        self._dropped = 0
        self._told = 0
        self._why = ""
        self._written = 0
        self._ended = threading.Event()
        # Daemon: it must not keep a server from ending.
        self._thread = threading.Thread(target=self._run, name="tokgate-probe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, finished: Finished) -> None:
        if len(self._queue) >= QUEUE:
            self._lose(1, "queue full")
        else:
            self._queue.append(finished)

    def end(self) -> None:
        """Write what is finished by now. Bounded: the server may be on its way out."""
        self._ended.set()
        self._thread.join(1.0)

    def _lose(self, count: int, why: str) -> None:
        self._dropped += count
        self._why = why

    def _run(self) -> None:
        try:
            with self._path.open("w", encoding="utf-8") as file:
                self._put(file, [json.dumps(self._header)])
                while not self._ended.wait(FLUSH_S):
                    self._drain(file)
                self._drain(file)
                last = {"end": True, "written": self._written, "dropped": self._dropped}
                self._put(file, [json.dumps(last)])
        except OSError as error:
            # Nothing more can be written; the queue must not grow for nothing.
            self._left = 0
            self._lose(len(self._queue), repr(error))
            self._forget()

    def _forget(self) -> None:
        while not self._ended.wait(FLUSH_S):
            self._lose(len(self._queue), self._why)
            self._queue.clear()

    def _drain(self, file: Any) -> None:
        lines = []
        # In order: a later span is never done before an earlier one of the same stream.
        while self._queue and self._queue[0].span.done():
            one = self._queue.popleft()
            graph = None if one.graph is None else int(one.graph)
            took = round(one.span.milliseconds(), 4)
            lines.append(json.dumps([one.phase, took, one.requests, graph, one.began_ns]))
        if self._dropped > self._told:
            lines.append(json.dumps({"dropped": self._dropped, "why": self._why}))
            self._told = self._dropped
        if lines:
            self._put(file, lines)

    def _put(self, file: Any, lines: list[str]) -> None:
        text = "\n".join(lines) + "\n"
        if len(text) > self._left:
            self._lose(len(lines), "file at its limit")
            self._left = min(self._left, 0)
            return
        file.write(text)
        file.flush()
        self._left -= len(text)
        self._written += len(lines)
