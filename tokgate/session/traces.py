"""Traces that torch's profiler leaves on the host: waited for until each is whole, kept in the run folder."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source

from .run_folder import RunFolder
from .trace_files import FOLDER, PIECE, pieces_of, rank_in

LIMIT_S = 180.0  # of one trace's way from another machine
FILES_A_RANK = 4  # looked at; the profiler writes one
POLL_S = 0.1
MOST_POLL_S = 2.0
KEPT_BYTES = 32 << 20  # a larger trace is read and left behind
FETCHED_BYTES = 256 << 20  # a larger one is not fetched from another machine
_TRACE = re.compile(r"[A-Za-z0-9_.-]{1,200}\.json(?:\.gz)?")


class TraceFile(NamedTuple):
    """One rank's. `kept`: in the run folder; else it lies on the host only, and goes with the launch."""

    name: str  # relative to the run folder where kept
    rank: int  # by the file's name, else its place
    size: int
    kept: bool


class Whole(Protocol):
    """What reading a trace gives."""

    @property
    def complete(self) -> bool: ...


R = TypeVar("R", bound=Whole)
# Reads one trace's pieces, which may end early.
Read = Callable[[TraceFile, Iterator[bytes]], R]


@dataclass(frozen=True)
class TraceCollector:
    """Of one launch, whose profile runs or has run."""

    host: Host
    folder: RunFolder
    launch_id: str
    ranks: int
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def collect(self, there: str, read: Read[R], *, within_s: float) -> tuple[tuple[R, ...], str | None]:
        """Return every trace in `there` as `read` reads it, and why there are none or fewer than ranks.

        Waits until every rank's trace is there and whole; all of it ends when time is up. HostFault: the host is gone.
        """
        end, wait = self.clock() + within_s, POLL_S
        before: dict[str, int] = {}
        found: dict[str, R] = {}
        while True:
            files, too_many = self._files(there)
            for number, (path, size) in enumerate(files.items()):
                # One that grows is still being written; one that is whole is read once.
                if before.get(path) == size and not (path in found and found[path].complete):
                    if self.clock() > end:
                        break
                    found[path] = self._read(path, size, number, end, read)
            whole = sum(one.complete for one in found.values())
            if whole >= self.ranks and whole == len(files):
                return tuple(found.values()), too_many
            if self.clock() > end:
                why = f"{whole} whole traces of {self.ranks} within {within_s:g} s"
                return tuple(found.values()), f"{why}; {too_many}" if too_many else why
            before = files
            self.pause(wait)
            wait = min(2 * wait, MOST_POLL_S)

    def _files(self, there: str) -> tuple[dict[str, int], str | None]:
        listed = self.host.run_python(source("list_files"), there, name="list of traces")
        found = [(path, size) for path, size in listed if _TRACE.fullmatch(Path(path).name)]
        most = FILES_A_RANK * self.ranks
        too_many = f"{len(found)} traces, {most} of them looked at" if len(found) > most else None
        return dict(found[:most]), too_many

    def _read(self, path: str, size: int, number: int, end: float, read: Read[R]) -> R:
        """Read one trace; what is not through by `end` (of `self.clock`) is torn."""
        name = Path(path).name
        kept: str | None = f"launches/{self.launch_id}/{FOLDER}/{name}"
        pieces: Iterator[bytes]
        if size > KEPT_BYTES and self.host.local:
            pieces, kept = pieces_of(Path(path)), None
        elif size > FETCHED_BYTES:
            pieces, kept = iter(()), None
        else:
            content = self._fetched(path, end)
            # As it is: torch writes kernels and times, no command line and no variable.
            try:
                self.folder.write_bytes(f"launches/{self.launch_id}/{FOLDER}/{name}", content)
            except OSError as error:
                raise BenchFault(
                    tried=f"to keep the trace {name}",
                    found=f"it cannot be written: {error.strerror or error}",
                    do="look at the space that is left for reports",
                ) from error
            pieces = (content[at : at + PIECE] for at in range(0, len(content), PIECE))
        named = rank_in(name)
        file = TraceFile(kept or name, number if named is None else named, size, kept is not None)
        return read(file, takewhile(lambda _: self.clock() <= end, pieces))

    def _fetched(self, path: str, end: float) -> bytes:
        try:
            limit_s = max(1.0, min(LIMIT_S, end - self.clock()))
            return self.host.read_file(path, most=FETCHED_BYTES, timeout_s=limit_s) or b""
        except BenchFault:
            return b""  # torn, and so told: a trace that does not come costs what it would have shown
