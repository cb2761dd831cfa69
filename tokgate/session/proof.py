"""The proof start: what NCCL made of its variables, by its own words and by what runs on the decode path.

A start of its own, never timed: NCCL's debug lines and torch's profiler both cost time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from tokgate.client.control import Control
from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nccl_kernels import rank_profile
from tokgate.parsers.nccl_ranks import nccl_ranks
from tokgate.parsers.torch_trace import read_torch_trace
from tokgate.records import Unread
from tokgate.records.nccl import NcclProof, RankProfile
from tokgate.server.command_line import Extra

from .run_folder import RunFolder

DEBUG = (
    Extra("NCCL_DEBUG", "INFO", "a proof start: NCCL says which variables it took"),
    Extra("NCCL_DEBUG_SUBSYS", "INIT,ENV,TUNING", "and what they left it to choose from"),
)
STEPS = 8  # forward passes in the profile, the prefill among them
TOKENS = 24  # of the profiled generation: more steps than the profiler waits for
LIMIT_S = 180.0  # for a generation that stands still while eight ranks write their traces
TRACES_S = 120.0  # after it, for the last of them to be whole and read
FILES_A_RANK = 4  # looked at; the profiler writes one
POLL_S = 0.1
MOST_POLL_S = 2.0
KEPT_BYTES = 32 << 20  # a larger trace is read and left behind
FETCHED_BYTES = 256 << 20  # a larger one is not fetched from another machine
LOG_CHARACTERS = 32 << 20  # NCCL speaks at the start; what comes later is one line a call
# Between two looks at the clock. A packed piece unpacks to a thousand times as much at most: a second's reading.
_PIECE = 1 << 16
_RANK = re.compile(r"-TP-([0-9]{1,4})")
_TRACE = re.compile(r"[\w.-]{1,200}\.json(?:\.gz)?")


class ProvenServer(Protocol):
    """What a proof needs of a running server."""

    @property
    def control(self) -> Control: ...
    @property
    def folder(self) -> str: ...


@dataclass(frozen=True)
class Profiled:
    profiles: tuple[RankProfile, ...]
    why: str | None = None  # where there are none, or fewer than ranks


@dataclass(frozen=True)
class ProofRun:
    """Profiles a decoding server, then reads its log once it has stopped."""

    host: Host
    folder: RunFolder
    launch_id: str
    ranks: int
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def profile(self, server: ProvenServer) -> Profiled:
        """Generate once to be warm, once under the profiler; a server without one is told, not raised.

        BenchFault: the server does not generate.
        """
        server.control.generate_once(tokens=TOKENS, timeout_s=LIMIT_S)
        there = f"{server.folder}/profile"
        try:
            server.control.start_profile(there, steps=STEPS, limit_s=LIMIT_S)
        except BenchFault as fault:
            return Profiled((), f"no profiler: {fault.found}")
        try:
            server.control.generate_once(tokens=TOKENS, timeout_s=LIMIT_S)
        except BenchFault as fault:
            # What NCCL said before stands: a profiler that takes its server along costs the last state alone.
            return Profiled((), f"the profiled generation failed: {fault.found}")
        return self._collected(there)

    def proof(self, log: Path, profiled: Profiled) -> NcclProof:
        """Return everything that the stopped server's log and traces show, and write it down."""
        text, unread = _head(log)
        reading = read_nccl(text)
        proof = NcclProof(
            versions=reading.versions,
            ranks=nccl_ranks(reading),
            profiles=profiled.profiles,
            why_no_profile=profiled.why,
            warnings=reading.warnings,
            ran=tuple(
                f"{c.function} {c.algorithm}/{c.protocol}, {c.calls} calls of {c.smallest_bytes} to "
                f"{c.largest_bytes} bytes"
                for c in reading.choices
            ),
            unread=(*unread, *reading.unread),
        )
        self.folder.write_record(f"launches/{self.launch_id}/nccl-proof.json", proof)
        return proof

    def _collected(self, there: str) -> Profiled:
        """Wait until every rank's trace is there and whole, then keep them. All of it ends when time is up."""
        end, wait = self.clock() + TRACES_S, POLL_S
        before: dict[str, int] = {}
        read: dict[str, RankProfile] = {}
        while True:
            files, too_many = self._files(there)
            for number, (path, size) in enumerate(files.items()):
                # One that grows is still being written; one that is whole is read once.
                if before.get(path) == size and not (path in read and read[path].complete):
                    if self.clock() > end:
                        break
                    read[path] = self._read(path, size, number, end)
            whole = sum(profile.complete for profile in read.values())
            if whole >= self.ranks and whole == len(files):
                return Profiled(tuple(read.values()), too_many)
            if self.clock() > end:
                why = f"{whole} whole traces of {self.ranks} within {TRACES_S:g} s"
                return Profiled(tuple(read.values()), f"{why}; {too_many}" if too_many else why)
            before = files
            self.pause(wait)
            wait = min(2 * wait, MOST_POLL_S)

    def _files(self, there: str) -> tuple[dict[str, int], str | None]:
        listed = self.host.run_python(source("list_files"), there, name="list of traces")
        found = [(path, size) for path, size in listed if _TRACE.fullmatch(Path(path).name)]
        most = FILES_A_RANK * self.ranks
        too_many = f"{len(found)} traces, {most} of them looked at" if len(found) > most else None
        return dict(found[:most]), too_many

    def _read(self, path: str, size: int, number: int, end: float) -> RankProfile:
        """Read one trace; what is not through by `end` (of `self.clock`) is torn."""
        name = Path(path).name
        named = _RANK.search(name)
        kept = f"launches/{self.launch_id}/profile/{name}"
        pieces: Iterator[bytes]
        if size > KEPT_BYTES and self.host.local:
            pieces, kept = _pieces(Path(path)), name
        elif size > FETCHED_BYTES:
            pieces, kept = iter(()), name
        else:
            content = self._fetched(path, end)
            # As it is: torch writes kernels and times, no command line and no variable.
            self.folder.write_bytes(kept, content)
            pieces = (content[at : at + _PIECE] for at in range(0, len(content), _PIECE))
        in_time = takewhile(lambda _: self.clock() <= end, pieces)
        return rank_profile(read_torch_trace(in_time), rank=int(named[1]) if named else number, file=kept)

    def _fetched(self, path: str, end: float) -> bytes:
        try:
            return self.host.read_file(path, timeout_s=max(1.0, min(LIMIT_S, end - self.clock()))) or b""
        except BenchFault:
            return b""  # torn, and so told: a trace that does not come costs the last state alone


def _pieces(path: Path) -> Iterator[bytes]:
    # A server may take its trace away again: then it is torn.
    with suppress(OSError), path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _head(log: Path) -> tuple[str, tuple[Unread, ...]]:
    try:
        with log.open(encoding="utf-8", errors="backslashreplace") as file:
            text = file.read(LOG_CHARACTERS)
            more = bool(file.read(1))
    except OSError as error:
        return "", (Unread(text=str(log), why=f"it cannot be read: {error}"),)
    cut = Unread(text=log.name, why=f"longer than the {LOG_CHARACTERS >> 20} Mi characters that are read")
    return text, (cut,) if more else ()
