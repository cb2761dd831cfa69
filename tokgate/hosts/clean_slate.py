"""Is the machine clean, now or soon? Memory of a server that was just stopped may take a while."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_judgement import Owner
from tokgate.hosts.gpus import ReadTable, look_at_gpus, needs_clues
from tokgate.hosts.lease import LeaseHolder, holder_of
from tokgate.hosts.leftovers import judge_processes, leftovers_in
from tokgate.hosts.ports import look_at_port
from tokgate.hosts.processes import processes
from tokgate.records import CleanSlate, Finding, GpuHolder, GpuSeen, ProcessSeen
from tokgate.rig.machine import GpuSpec
from tokgate.rig.models import Rig

ReadHolder = Callable[[Host], LeaseHolder | None]

POLL_S = 1.0
# Eight GPUs have kept 122 GiB each for more than 30 s after their server was killed, and then gave it
# back at once: standing still that long does not mean that nothing will happen.
STALL_S = 45.0
# Most waits are for our own last server and are over by then: not worth a word.
TELL_AFTER_S = 5.0


class Clock(Protocol):
    """What `time` offers; a test brings its own."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


def look(
    host: Host,
    rig: Rig,
    *,
    when: str,
    port: int | None,
    ours: frozenset[Owner],
    notes: Sequence[Finding] = (),
    wait: bool = True,
    waiting: Callable[[CleanSlate], None] | None = None,
    nvml: Any | None = None,
    clock: Clock = time,
    read_table: ReadTable = processes,
    read_holder: ReadHolder = holder_of,
) -> CleanSlate:
    """Look until the machine is clean, or will not become so by waiting.

    `ours`: (pid, start_ticks) of processes that belong there. `notes` (of the fingerprint) are carried
    along. Waits while memory shrinks or earlier processes end, at most rig.gpus.wait_s; not for a
    living stranger, and not for what cannot be seen. A host that cannot be asked is a finding. `wait`: False
    where waiting was in vain before. `waiting`: told once what is waited for, when that takes TELL_AFTER_S.
    """
    wait_s = rig.gpus.wait_s if wait else 0.0
    began = clock.monotonic()
    moved = began
    best: tuple[float, int] | None = None
    runs: dict[str, int] = {}  # most processes seen at once, by the run whose mark they carry
    clues = False
    while True:
        started = clock.monotonic()
        slate = _look_once(
            host,
            rig,
            port=port,
            ours=ours,
            nvml=nvml,
            read_table=read_table,
            read_holder=read_holder,
            clues=clues,
        )
        now = clock.monotonic()
        slate = slate.model_copy(
            update={"when": when, "findings": (*slate.findings, *notes), "look_s": now - started}
        )
        for run, count in _runs_in(slate).items():
            runs[run] = max(runs.get(run, 0), count)
        left = _left(slate)
        if best is None or left < best:
            best, moved = left, now
        if (
            not _may_pass(slate, ours, rig.gpus)
            or now - began + POLL_S > wait_s
            or now - moved + POLL_S > STALL_S
        ):
            if clues or slate.clean or not needs_clues(rig.gpus, slate.gpus, slate.holders):
                gone = _gone(runs) if slate.clean else ()
                return slate.model_copy(
                    update={"waited_s": now - began, "findings": (*slate.findings, *gone)}
                )
            # It will not become clean by itself: once more, with all that can be found out.
            clues = True
            continue
        if waiting is not None and now - began >= TELL_AFTER_S:
            waiting(slate)
            waiting = None
        clock.sleep(POLL_S)


def _look_once(
    host: Host,
    rig: Rig,
    *,
    port: int | None,
    ours: frozenset[Owner],
    nvml: Any | None,
    read_table: ReadTable,
    read_holder: ReadHolder,
    clues: bool,
) -> CleanSlate:
    tables: list[tuple[ProcessSeen, ...]] = []

    def once(host: Host) -> tuple[ProcessSeen, ...]:
        # One reading of the table serves both the GPUs and the processes.
        if not tables:
            tables.append(read_table(host))
        return tables[0]

    gpus, holders, findings = look_at_gpus(host, rig.gpus, nvml, ours=ours, read_table=once, clues=clues)
    leftovers, more = _look_at_processes(host, rig, port, ours, read_table=once, read_holder=read_holder)
    return CleanSlate(
        when="",
        host=host.name,
        gpus=gpus,
        holders=holders,
        leftovers=leftovers,
        port=port,
        # A host that cannot be asked says so to every question.
        findings=tuple(dict.fromkeys((*findings, *more))),
    )


def _look_at_processes(
    host: Host,
    rig: Rig,
    port: int | None,
    ours: frozenset[Owner],
    *,
    read_table: ReadTable,
    read_holder: ReadHolder,
) -> tuple[tuple[ProcessSeen, ...], tuple[Finding, ...]]:
    try:
        table = read_table(host)
        holder = read_holder(host)
        leftovers = leftovers_in(table, holder, ours)
        findings = judge_processes(table, leftovers, holder, ours, cpu_rig=rig.gpus.count == 0)
        if port is not None:
            findings += look_at_port(host, port, table)
    except HostFault as fault:
        return (), (Finding(severity="unknown", what=f"{fault.tried}: {fault.found}", do=fault.do),)
    return leftovers, findings


def _runs_in(slate: CleanSlate) -> Counter[str]:
    return Counter(p.mark.partition("/")[0] for p in slate.leftovers if p.mark is not None)


def _gone(runs: Mapping[str, int]) -> Iterator[Finding]:
    """Yield whose processes were waited for: another gate was at work here until a moment ago, and may be again."""
    for run, count in runs.items():
        yield Finding(
            severity="note",
            what=f"waited for {count} process{'es' if count > 1 else ''} of the run {run}, gone since",
            do="if it is not this run: let every gate on this host have the same host.work_dir, so that they wait for each other",
        )


def _left(slate: CleanSlate) -> tuple[float, int]:
    """Return what is still to go: MiB over all GPUs, and processes."""
    return sum(_allocated(g) for g in slate.gpus), len(slate.leftovers) + len(slate.holders)


def _may_pass(slate: CleanSlate, ours: frozenset[Owner], spec: GpuSpec) -> bool:
    """Say whether the slate is unclean, and through something that may end by itself."""
    if slate.clean or any(f.severity == "unknown" for f in slate.findings):
        return False
    dying = {(p.pid, p.start_ticks) for p in slate.leftovers} | ours
    if any(_lives(h) and (h.pid, h.start_ticks) not in dying for h in slate.holders):
        return False
    return bool(slate.leftovers) or any(_allocated(g) > spec.tolerance_mib for g in slate.gpus)


def _lives(holder: GpuHolder) -> bool:
    return holder.pid is not None and holder.note is None


def _allocated(gpu: GpuSeen) -> float:
    return gpu.allocated_mib or 0.0
