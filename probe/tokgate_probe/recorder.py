"""Keeps finished spans and writes them down, from a thread of its own.

The hooked call only appends to queues of bounded length and asks, without waiting, which of the earlier spans are
over. A disk that is slow, full or gone costs records, which are counted, never the server's time.

Lines of phases-PID.jsonl (phases-PID-2.jsonl where that file is somebody else's), one JSON value each:
    {"probe": 1, "pid": …, "rank": TP rank or null, "ranks": {"tp": …, "pp": …, "dp": …, "gpu": …}, "mark": …,
     "sglang": "0.5.23" | null, "clock": "cuda-events" | "host", "hooked": ["verify PATH", …],
     "missing": [PATH, …], "broken": {PATH: why, …}, "failed": null | "why nothing is hooked",
     "switch": true | false, "monotonic_ns": …, "epoch_ns": …}             first; the two clocks at the same moment
    ["verify", 5.359, 1, 1, 123456789]      phase, milliseconds, requests in the batch or null, ran in a CUDA graph
                                            (1, 0 or null: not told), host's monotonic ns at its start
    {"dropped": 3, "why": "queue full"}     the count so far, whenever it has grown
    {"end": true, "written": 4711, "dropped": 3}                           last, of a process that ended by itself

A cycle's draft, verify and draft_extend come before its step. A server that is killed leaves no end, and perhaps half
a line. On a GPU the last spans before a pause, a cycle or two, are written when the next call comes. After a failed
write the next line begins anew, so half a line may also stand in the middle, followed by what was dropped.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from typing import Any

from tokgate_probe.clocks import Span
from tokgate_probe.line_file import LineFile

QUEUE = 65536  # spans; at 50 cycles a second of four phases five minutes of a disk that does not answer
FLUSH_S = 0.2


# Plain tuples: they are made in the scheduler's time.
_Open = tuple[str, Span, "int | None", "bool | None"]  # phase, span, requests, graph
_Over = tuple[str, float, "int | None", "bool | None", int]  # a line


class Recorder:
    """`add` and `lose` belong to the scheduler's thread, everything else to the recorder's own."""

    def __init__(self, file: LineFile) -> None:
        self._file = file
        self._begun = False
        self._header: list[str] = []
        self._open: deque[_Open] = deque()  # the GPU may still be at these
        self._ready: deque[_Over] = deque()
        self._lost_hooking, self._lost_writing = 0, 0
        self._why = ""
        self._told, self._told_full = 0, False
        self._written = 0
        self._ended = threading.Event()
        # Daemon: it must not keep a server from ending.
        self._thread = threading.Thread(target=self._run, name="tokgate-probe", daemon=True)

    def start(self) -> None:
        """Start the thread. Raises RuntimeError where the process may have no more of them."""
        self._thread.start()

    def begin(self, header: dict[str, Any]) -> None:
        """Have the first line written, and what follows it: nothing is before."""
        self._header = [json.dumps(header)]
        self._begun = True

    def add(self, phase: str, span: Span, requests: int | None, graph: bool | None) -> None:
        if len(self._open) + len(self._ready) >= QUEUE:
            self.lose("queue full")
        else:
            self._open.append((phase, span, requests, graph))
        self._collect()

    def lose(self, why: str) -> None:
        self._lost_hooking += 1
        self._why = why

    def end(self) -> None:
        """Write what is over by now. Bounded: the server may be on its way out."""
        with contextlib.suppress(Exception):  # the GPU's context may be gone already
            self._collect()
        self._ended.set()
        self._thread.join(1.0)

    def _collect(self) -> None:
        # In order: a later span is never over before an earlier one of the same stream.
        waiting = self._open
        while waiting and waiting[0][1].done():
            phase, span, requests, graph = waiting.popleft()
            self._ready.append((phase, span.milliseconds(), requests, graph, span.began_ns))

    @property
    def _dropped(self) -> int:
        return self._lost_hooking + self._lost_writing

    def _run(self) -> None:
        while not self._ended.wait(FLUSH_S):
            if self._begun:
                self._flush()
        if not self._begun:
            return
        self._flush()
        last = {"end": True, "written": self._written, "dropped": self._dropped}
        self._put([json.dumps(last)], last=True)

    def _flush(self) -> None:
        if self._header and self._put(self._header):
            self._header = []
        lines = [_line(*self._ready.popleft()) for _ in range(len(self._ready))]
        if lines and not self._header and self._put(lines):
            self._written += len(lines)
        else:
            self._lost_writing += len(lines)
        # Of a file at its limit this is told once, and again at the end: it has kept room for that.
        dropped = self._dropped
        if dropped > self._told and not self._told_full and not self._header:
            told = self._put([json.dumps({"dropped": dropped, "why": self._why})], last=True)
            self._told = dropped if told else self._told
            self._told_full = told and self._file.full

    def _put(self, lines: list[str], *, last: bool = False) -> bool:
        try:
            self._file.write("".join(line + "\n" for line in lines), last=last)
        except OSError as error:
            self._why = error.strerror or str(error)
            return False
        return True


def _line(phase: str, took_ms: float, requests: int | None, graph: bool | None, began_ns: int) -> str:
    batch = "null" if requests is None else requests
    in_graph = "null" if graph is None else int(graph)
    return f'["{phase}", {took_ms:.4f}, {batch}, {in_graph}, {began_ns}]'
