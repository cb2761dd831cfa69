"""The proof start: what NCCL made of its variables, by its own words and by what runs on the decode path.

A start of its own, never timed: NCCL's debug lines and torch's profiler both cost time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tokgate.client.control import Control
from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nccl_kernels import rank_profile
from tokgate.parsers.nccl_ranks import nccl_ranks
from tokgate.parsers.torch_trace import read_torch_trace
from tokgate.records import Unread
from tokgate.records.nccl import NcclProof, RankProfile
from tokgate.server.command_line import Extra
from tokgate.server.followers import log_name

from .run_folder import RunFolder
from .trace_files import FOLDER
from .traces import TraceCollector, TraceFile

DEBUG = (
    Extra("NCCL_DEBUG", "INFO", "a proof start: NCCL says which variables it took"),
    Extra("NCCL_DEBUG_SUBSYS", "INIT,ENV,TUNING", "and what they left it to choose from"),
)
STEPS = 8  # forward passes in the profile, the prefill among them
TOKENS = 24  # of the profiled generation: more steps than the profiler waits for
LIMIT_S = 180.0  # for a generation that stands still while eight ranks write their traces
TRACES_S = 120.0  # after it, for the last of them to be whole and read
LOG_CHARACTERS = 32 << 20  # NCCL speaks at the start; what comes later is one line a call


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
    further: tuple[Host, ...] = ()  # of a server over several hosts: they have their share of the ranks
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def profile(self, server: ProvenServer) -> Profiled:
        """Generate once to be warm, once under the profiler; a server without one is told, not raised.

        BenchFault: the server does not generate.
        """
        server.control.generate_once(tokens=TOKENS, timeout_s=LIMIT_S)
        there = f"{server.folder}/{FOLDER}"
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
        proof = _proof(log, profiled)
        for node in range(1, len(self.further) + 1):
            there = _proof(log.with_name(log_name(node)), profiled)
            proof = proof.model_copy(
                update={
                    "versions": tuple(dict.fromkeys((*proof.versions, *there.versions))),
                    "ranks": (*proof.ranks, *(r.model_copy(update={"node": node}) for r in there.ranks)),
                    "warnings": (*proof.warnings, *there.warnings),
                    "ran": tuple(dict.fromkeys((*proof.ran, *there.ran))),
                    "unread": (*proof.unread, *there.unread),
                }
            )
        self.folder.write_record(f"launches/{self.launch_id}/nccl-proof.json", proof)
        return proof

    def _collected(self, there: str) -> Profiled:
        """Wait until every rank's trace is there and whole, then keep them. All of it ends when time is up."""
        hosts = (self.host, *self.further)
        found: list[RankProfile] = []
        whys: list[str] = []
        for number, host in enumerate(hosts):
            collector = TraceCollector(
                host,
                self.folder,
                self.launch_id,
                self.ranks // len(hosts),
                pause=self.pause,
                clock=self.clock,
            )
            # Every node's schedulers are told one path; it is node 0's, and each writes to it on its own host.
            profiles, why = collector.collect(there, _read, within_s=TRACES_S)
            found += profiles
            whys += [f"node {number}: {why}" if len(hosts) > 1 else why] if why is not None else []
        if self.further:  # two of them may see one file system
            found = list({profile.rank: profile for profile in found}.values())
        return Profiled(tuple(found), "; ".join(whys) or None)


def _proof(log: Path, profiled: Profiled) -> NcclProof:
    """Return what one node's log shows."""
    text, unread = _head(log)
    reading = read_nccl(text)
    return NcclProof(
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


def _read(file: TraceFile, pieces: Iterator[bytes]) -> RankProfile:
    return rank_profile(read_torch_trace(pieces), rank=file.rank, file=file.name)


def _head(log: Path) -> tuple[str, tuple[Unread, ...]]:
    try:
        with log.open(encoding="utf-8", errors="backslashreplace") as file:
            text = file.read(LOG_CHARACTERS)
            more = bool(file.read(1))
    except OSError as error:
        return "", (Unread(text=str(log), why=f"it cannot be read: {error}"),)
    cut = Unread(text=log.name, why=f"longer than the {LOG_CHARACTERS >> 20} Mi characters that are read")
    return text, (cut,) if more else ()
