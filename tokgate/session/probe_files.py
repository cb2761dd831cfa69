"""The probe's files as a run folder holds them, read within bounds, and how sure the host's clock is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokgate.parsers.probe_file import MAX_CALLS, read_probe_file
from tokgate.parsers.probe_records import ProbeFile
from tokgate.records.telemetry import Window

from .instrument_files import CLOCK, HostClock
from .plain_files import pieces_of, record_of

MOST_FILES = 256  # one a scheduler
MOST_BYTES = 128 << 20  # of all files together; a real one has some 100 KiB
MOST_CALLS = 2_000_000  # of all files together
_BLURRED, _UNKNOWN = 0.1, 0.5  # parts of the shortest start


def read_files(folder: Path, mark: str | None) -> tuple[list[ProbeFile], list[str]]:
    """Return every file of a launch's folder, and what was not read of them. Never raises on odd input."""
    paths = sorted(folder.glob("*.jsonl"))
    found: list[ProbeFile] = []
    left_bytes, left_calls = MOST_BYTES, MOST_CALLS
    for number, path in enumerate(paths):
        if number >= MOST_FILES or left_bytes <= 0 or left_calls <= 0:
            limit = f"at most {MOST_FILES}, {MOST_BYTES >> 20} MiB and {MOST_CALLS} calls together"
            return found, [f"{len(paths)} files, {number} of them read: {limit}"]
        pieces = _Counted(path, left_bytes)
        try:
            file = read_probe_file(pieces, name=path.name, mark=mark, most=min(left_calls, MAX_CALLS))
        except OSError as error:
            file = ProbeFile(name=path.name, why=f"{path.name} cannot be read: {error.strerror or error}")
        left_bytes -= pieces.read
        left_calls -= len(file.calls)
        found.append(file)
    return found, []


def clock_in(folder: Path, windows: Iterable[Window]) -> tuple[HostClock, bool, str | None]:
    """Return the host's clock, whether calls can be told by it, and what is not sure about it."""
    path = folder / CLOCK
    clock = record_of(path, HostClock)
    if clock is None and os.path.lexists(path):
        return (
            HostClock(),
            False,
            f"{CLOCK} cannot be read: which calls began within a judged start is not known",
        )
    clock = clock or HostClock()
    shortest = min((w.end_ns - w.start_ns for w in windows if not w.warmup), default=0)
    if shortest <= 0 or abs(clock.within_ns) <= _BLURRED * shortest:
        return clock, True, None
    sure = abs(clock.within_ns) <= _UNKNOWN * shortest
    return (
        clock,
        sure,
        (
            f"the host's clock is known within {abs(clock.within_ns) / 1e6:.4g} ms, and the shortest start took "
            f"{shortest / 1e6:.4g} ms: its calls may be those of "
            f"{'the start beside it, at its ends' if sure else 'another start, so that none is read'}"
        ),
    )


class _Counted:
    """Pieces of a file, and how many bytes they had so far."""

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most = path, most
        self.read = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in pieces_of(self._path, most=self._most):
            self.read += len(piece)
            yield piece
