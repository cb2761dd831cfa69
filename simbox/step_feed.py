"""What main tells each rank about every step, before it begins: when it begins and how long each phase is.

Records of one length through a pipe. Main never waits for a rank: one that has fallen a thousand steps behind loses
records, which are counted.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from simbox.model import Step

KINDS = ("prefill", "decode", "verify")
_SLOTS = ("draft", "prefill", "decode", "verify", "draft_extend", "host")
_RECORD = struct.Struct("<BIIBq6q")


@dataclass(frozen=True)
class Announced:
    """One step as a rank is told of it."""

    kind: str  # of KINDS
    number: int  # as in the truth file
    batch: int
    graph: bool
    began_ns: int  # of time.monotonic_ns(), by main's schedule
    phases_ns: dict[str, int]


def pack(step: Step, *, kind: str, number: int, batch: int, began_ns: int) -> bytes:
    """Write one record."""
    lengths = (round(step.phases.get(name, 0.0) * 1e6) for name in _SLOTS)
    return _RECORD.pack(KINDS.index(kind), number, batch, step.graph, began_ns, *lengths)


def unpack(record: bytes) -> Announced:
    """Read one record."""
    kind, number, batch, graph, began_ns, *lengths = _RECORD.unpack(record)
    phases = {name: ns for name, ns in zip(_SLOTS, lengths, strict=True) if ns}
    return Announced(KINDS[kind], number, batch, bool(graph), began_ns, phases)


class Feed:
    """Main's ends of the pipes, one a rank."""

    def __init__(self, ends: Sequence[Connection]) -> None:
        self._ends = tuple(ends)  # they close when forgotten
        self.lost = 0
        for end in ends:
            os.set_blocking(end.fileno(), False)

    def tell(self, records: Sequence[bytes]) -> None:
        """Send each rank its record."""
        for end, record in zip(self._ends, records, strict=True):
            try:
                os.write(end.fileno(), record)  # whole or not at all: it is shorter than PIPE_BUF
            except OSError:
                self.lost += 1


def receive(end: Connection) -> bytes:
    """Read one record, waiting for it; b"" when main is gone."""
    return os.read(end.fileno(), _RECORD.size)
