"""A few steps of an instrumented launch under torch's profiler, behind everything that is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from tokgate.client.control import Control
from tokgate.client.interpret import interpret
from tokgate.client.stream import Target, run_batch
from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.parsers.trace_source import TraceSource
from tokgate.records import Launch, Liveness
from tokgate.rig.models import Rig
from tokgate.rig.ranks import rank_count

from .instrument_files import TRACE, TraceTaken
from .requests import request_of, response_limit
from .run_folder import RunFolder
from .trace_files import FOLDER
from .traces import KEPT_BYTES, TraceCollector, TraceFile

STEPS = 8  # that decode, and before them as many prefills as there are prompts
MOST_PREFILLS = 8
LIMIT_S = 120.0  # for a start that stands still while every rank writes its trace
TRACES_S = 60.0  # after it


class ProfiledServer(Protocol):
    """What a trace needs of a running server."""

    @property
    def control(self) -> Control: ...
    @property
    def target(self) -> Target: ...
    @property
    def folder(self) -> str: ...
    def why_gone(self) -> str | None: ...


class _Kept(NamedTuple):
    """`why`: it is not in the run folder."""

    name: str
    complete: bool
    why: str | None = None


@dataclass(frozen=True)
class TraceRun:
    """Of one launch. `rig`: as the launch has it."""

    host: Host
    folder: RunFolder
    launch: Launch
    rig: Rig
    root: Path
    further: tuple[Host, ...] = ()  # of a server over several hosts: they have their share of the ranks
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def take(self, server: ProfiledServer, liveness: Liveness | None) -> str:
        """Profile the first workload's first judged start once more, cut short; say how it went.

        Only of a server that has answered to the last: a profiler may end it. Never raises BenchFault.
        """
        workload = self.rig.workloads[0]
        taken = TraceTaken(workload=workload.name, concurrency=workload.concurrency)
        kept: tuple[_Kept, ...] = ()
        why: str | None
        if not self.rig.instruments.trace:
            why = "not asked for: instruments.trace is false in the rig"
        elif liveness is None or not liveness.answered:
            why = "the server did not answer any more after its workloads"
        else:
            try:
                why = self._profiled(server)
                if why is None:
                    kept, why = self._collected(server)
            except BenchFault as fault:
                why = fault.found
        taken = taken.model_copy(update={"why": why, "files": {k.name: k.why for k in kept if k.why}})
        self.folder.write_record(f"launches/{self.launch.id}/{TRACE}", taken)
        whole = sum(k.complete and k.why is None for k in kept)
        return f"{whole} traces" + (f", {why}" if why else "")

    def _profiled(self, server: ProfiledServer) -> str | None:
        """Return what went wrong with it. BenchFault: the server does not do as it is told."""
        workload, arm = self.rig.workloads[0], self.rig.arm(self.launch.arm)
        steps = STEPS + min(workload.concurrency, MOST_PREFILLS)
        # So that even with every draft accepted there are more steps than the profiler waits for.
        tokens = (steps + 2) * ((arm.num_steps or 0) + 1)
        short = workload.model_copy(update={"output_tokens": tokens})
        first = workload.warmup * workload.concurrency
        requests = [
            request_of(self.rig, self.launch, short, first + n, root=self.root)
            for n in range(workload.concurrency)
        ]
        server.control.flush_cache()
        try:
            server.control.start_profile(f"{server.folder}/{FOLDER}", steps=steps, limit_s=LIMIT_S)
        except BenchFault as fault:
            return f"no profiler: {fault.found}"
        outcome = run_batch(
            server.target,
            requests,
            timeout_s=LIMIT_S,
            response_limit=response_limit(tokens),
            should_stop=server.why_gone,
        )
        made = [
            interpret(raw, launch=self.launch.id, workload=workload.name, index=n)
            for n, raw in enumerate(outcome.responses)
        ]
        failed = [g for g in made if not g.good]
        return f"the profiled start failed: {failed[0].status.value}, {failed[0].why}" if failed else None

    def _collected(self, server: ProfiledServer) -> tuple[tuple[_Kept, ...], str | None]:
        hosts = (self.host, *self.further)
        kept: dict[str, _Kept] = {}  # by name: two nodes may see one file system
        whys: list[str] = []
        for number, host in enumerate(hosts):
            collector = TraceCollector(
                host,
                self.folder,
                self.launch.id,
                rank_count(self.rig) // len(hosts),
                pause=self.pause,
                clock=self.clock,
            )
            # Every node's schedulers are told one path; it is node 0's, and each writes to it on its own host.
            found, why = collector.collect(f"{server.folder}/{FOLDER}", _kept, within_s=TRACES_S)
            kept |= {one.name: one for one in found}
            whys += [f"node {number}: {why}" if len(hosts) > 1 else why] if why is not None else []
        return tuple(kept.values()), "; ".join(whys) or None


def _kept(file: TraceFile, pieces: Iterator[bytes]) -> _Kept:
    name = Path(file.name).name
    if not file.kept:
        # Whole or not: what is not kept is not waited for either.
        return _Kept(name, True, f"{file.size} bytes, more than the {KEPT_BYTES >> 20} MiB that are kept")
    source = TraceSource(pieces)
    for _ in source.events():
        pass
    return _Kept(name, source.why is None)
