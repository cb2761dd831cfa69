"""GPU kernels out of a torch profiler trace (Chrome's trace format, plain or gzip), however large.

Read in pieces and never held as a whole: a trace of one rank may have hundreds of megabytes. A kernel's name
proves what ran; it never tells who chose it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable

from tokgate.records import Record, Unread
from tokgate.records.nccl import KernelUse

from .foreign_json import number, shown
from .trace_source import TraceSource

MAX_KERNELS = 1_000_000  # whose times are kept, 12 bytes each
MAX_NAMES = 20_000
MAX_UNREAD = 20
MOST_US = 1e12  # eleven days: no kernel takes longer, and sums of such stay numbers
# What SGLang >= 0.5.16 marks on the GPU's own line of time: a plain decode step, a verify of drafts.
_STEP = re.compile(r"step\[(?:DECODE|(?:TARGET_)?VERIFY)\b")


class TraceReading(Record):
    rank: int | None  # by the trace's own word
    kernels: tuple[KernelUse, ...]  # most time first
    steps: int | None  # marked steps that decode; None: no mark at all, so that nothing lies `in_steps`
    events: int
    complete: bool  # False: torn, or cut at a limit
    unread: tuple[Unread, ...] = ()


class _Kernels:
    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.calls: list[int] = []
        self.time_us: list[float] = []
        self.streams: list[set[int]] = []
        self.at = array("d")
        self.which = array("I")
        self.steps: list[tuple[float, float]] = []
        self.dropped = 0

    def take(self, event: dict[str, object]) -> None:
        kind, name = event.get("cat"), event.get("name")
        at, length = number(event.get("ts")), number(event.get("dur"))
        if not isinstance(name, str) or at is None or length is None or not 0 <= length <= MOST_US:
            return
        if kind == "gpu_user_annotation" and _STEP.match(name):
            self.steps.append((at, at + length))
        elif kind == "kernel":
            self._kernel(shown(name, 300), at, length, event.get("args"))

    def _kernel(self, name: str, at: float, length: float, args: object) -> None:
        which = self.names.get(name)
        if which is None:
            if len(self.names) >= MAX_NAMES:
                self.dropped += 1
                return
            which = self.names[name] = len(self.names)
            self.calls.append(0)
            self.time_us.append(0.0)
            self.streams.append(set())
        self.calls[which] += 1
        self.time_us[which] += length
        stream = args.get("stream") if isinstance(args, dict) else None
        if isinstance(stream, int) and len(self.streams[which]) < 64:
            self.streams[which].add(stream)
        if len(self.at) < MAX_KERNELS:
            self.at.append(at)
            self.which.append(which)
        else:
            self.dropped += 1

    def finished(self) -> tuple[KernelUse, ...]:
        inside = self._inside()
        uses = [
            KernelUse(
                name=name,
                calls=self.calls[which],
                total_us=self.time_us[which],
                streams=tuple(sorted(self.streams[which])),
                in_steps=inside.get(which, 0),
            )
            for name, which in self.names.items()
        ]
        return tuple(sorted(uses, key=lambda use: -use.total_us))

    def _inside(self) -> dict[int, int]:
        spans = sorted(self.steps)
        begins = [begin for begin, _ in spans]
        found: dict[int, int] = {}
        for at, which in zip(self.at, self.which, strict=True):
            before = bisect_right(begins, at) - 1
            if before >= 0 and at < spans[before][1]:
                found[which] = found.get(which, 0) + 1
        return found


def read_torch_trace(pieces: Iterable[bytes]) -> TraceReading:
    """Read a trace from its bytes, piece by piece; never raises on odd input."""
    found = _Kernels()
    unread: list[Unread] = []
    source = TraceSource(pieces)
    events = 0
    for event in source.events():
        events += 1
        if isinstance(event, dict):
            found.take(event)
        elif len(unread) < MAX_UNREAD:
            unread.append(Unread(text=shown(event), why="an event that is no object"))
    if source.why is not None:
        unread.append(Unread(text=source.near, why=source.why))
    if found.dropped:
        unread.append(Unread(text=f"{found.dropped} kernels", why="more than are kept"))
    return TraceReading(
        rank=source.rank,
        kernels=found.finished(),
        steps=len(found.steps) or None,
        events=events,
        complete=source.why is None,
        unread=tuple(unread),
    )
