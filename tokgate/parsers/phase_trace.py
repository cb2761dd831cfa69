"""Phases out of one rank's torch profile: marks on the GPU's own line of time, and the kernels inside them.

Profiling slows the host, so that the GPU waits inside a mark: a phase's true GPU time lies between the time its
kernels work (`busy_ms`) and the length of its mark (`mean_ms`). Where there is no GPU the marks on the host's line are
the phases themselves.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Literal

from tokgate.records import Record, Unread
from tokgate.records.nccl import KernelUse
from tokgate.records.phases import GraphReading, Phase, PhaseReading, TraceFacts

from .foreign_json import shown
from .nccl_kernels import SHOWN, reducing
from .phase_names import phase_names
from .trace_marks import Mark, cycles
from .trace_source import TraceSource
from .trace_work import GpuWork, TraceEvents

COST = "the profiler slows the host by half and more: for shares and names, never for throughput"
WAITED = 0.8  # below this part of a mark at work the GPU waited for the profiled host
_PHASES = (Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND, Phase.DECODE)


class PhaseTrace(Record):
    """`why` is set where the trace tells nothing of phases."""

    readings: tuple[PhaseReading, ...] = ()
    facts: TraceFacts | None = None
    graphs: GraphReading
    why: str | None = None
    unread: tuple[Unread, ...] = ()


def read_phase_trace(
    pieces: Iterable[bytes], *, file: str, concurrency: int, workload: str | None = None
) -> PhaseTrace:
    """Read a trace from its bytes, piece by piece; never raises on odd input."""
    events, source = TraceEvents(), TraceSource(pieces)
    odd = 0
    for event in source.events():
        if isinstance(event, dict):
            events.take(event)
        else:
            odd += 1
    unread = [Unread(text=f"{odd} events", why="no objects")] if odd else []
    if source.why is not None:
        unread.append(Unread(text=shown(source.near), why=source.why))
    if events.dropped:
        unread.append(Unread(text=f"{events.dropped} events", why="more than are kept"))
    on_gpu = bool(events.at) or bool(events.marks["gpu_user_annotation"])
    marks = cycles(events.marks["gpu_user_annotation" if on_gpu else "user_annotation"])
    work = GpuWork(events)
    graphs = _graphs(work, marks, concurrency)
    if not marks:
        why = (
            source.why
            or f"no phase is marked: looked for {', '.join(n.words() for n in phase_names('trace'))}"
        )
        return PhaseTrace(graphs=graphs, why=f"{file}: {why}", unread=tuple(unread))
    clock: Literal["gpu", "host"] = "gpu" if on_gpu else "host"
    found = [_reading(phase, marks, work, clock, concurrency) for phase in (*_PHASES, Phase.STEP)]
    share = {Phase.VERIFY: graphs.share, Phase.DECODE: graphs.share}
    return PhaseTrace(
        readings=tuple(
            r.model_copy(
                update={
                    "workload": workload,
                    "rank": source.rank,
                    "graph_share": share.get(r.phase),
                }
            )
            for r in found
            if r is not None
        ),
        facts=_facts(events, work, marks, tuple(unread), source=source, file=file) if events.at else None,
        graphs=graphs,
        unread=tuple(unread),
    )


def _reading(
    phase: Phase, marks: list[Mark], work: GpuWork, clock: Literal["gpu", "host"], concurrency: int
) -> PhaseReading | None:
    mine = [m for m in marks if m.phase is phase]
    if not mine:
        return None
    lengths = sorted((m.end - m.at) / 1e3 for m in mine)
    busy = statistics.fmean(work.busy(m.at, m.end) / 1e3 for m in mine) if clock == "gpu" else None
    mean = statistics.fmean(lengths)
    warnings: tuple[str, ...] = ()
    if busy is not None and work.at and busy < WAITED * mean:
        warnings = (f"the GPU worked {busy:.3f} of {mean:.3f} ms: it waited for the profiled host",)
    return PhaseReading(
        phase=phase,
        source="trace",
        clock=clock,
        n=len(mine),
        mean_ms=mean,
        p50_ms=statistics.median(lengths),
        sd_ms=statistics.stdev(lengths) if len(lengths) > 1 else None,
        p95_ms=lengths[math.ceil(0.95 * len(lengths)) - 1] if len(lengths) >= 20 else None,
        busy_ms=busy,
        concurrency=concurrency,
        cost=COST,
        warnings=warnings,
    )


def _graphs(work: GpuWork, marks: list[Mark], concurrency: int) -> GraphReading:
    phase = Phase.VERIFY if any(m.phase is Phase.VERIFY for m in marks) else Phase.DECODE
    in_graph: list[bool] = []
    for mark in (m for m in marks if m.phase is phase):
        told, by_graph = work.launched(mark.at, mark.end)
        if told:
            # One graph and a few kernels around it: most of them have the launch of a graph for their cause.
            in_graph.append(2 * by_graph > told)
    return GraphReading(
        source="trace",
        share=sum(in_graph) / len(in_graph) if in_graph else None,
        n=len(in_graph),
        concurrency=concurrency,
        why=None if in_graph else f"no kernel inside a {phase.value} tells what launched it",
    )


def _facts(
    events: TraceEvents,
    work: GpuWork,
    marks: list[Mark],
    unread: tuple[Unread, ...],
    *,
    source: TraceSource,
    file: str,
) -> TraceFacts:
    phases = [m for m in marks if m.phase is not Phase.STEP]
    begin, end = min(m.at for m in phases), max(m.end for m in phases)
    inside = work.inside(begin, end)
    kernels = _uses(events, [i for i in inside if events.which[i] >= 0])
    total = math.fsum(k.total_us for k in kernels)
    nccl, instead = reducing(kernels)
    busy = work.busy(begin, end)
    counted = {Phase.VERIFY, Phase.DECODE}
    return TraceFacts(
        rank=source.rank,
        file=file,
        steps=sum(m.phase in counted for m in phases),
        span_ms=(end - begin) / 1e3,
        kernel_ms=total / 1e3,
        busy_ms=busy / 1e3,
        idle_share=1 - busy / (end - begin) if end > begin else 0.0,
        nccl_share=math.fsum(k.total_us for k in nccl) / total if total > 0 else 0.0,
        nccl=nccl[:SHOWN],
        instead=instead[:SHOWN],
        graph_launches=sum(begin <= at < end for at in events.graph_launches.values()),
        complete=source.why is None,
        unread=unread,
    )


def _uses(events: TraceEvents, inside: list[int]) -> tuple[KernelUse, ...]:
    calls: dict[int, int] = {}
    time_us: dict[int, float] = {}
    for i in inside:
        which = events.which[i]
        calls[which] = calls.get(which, 0) + 1
        time_us[which] = time_us.get(which, 0.0) + events.length[i]
    names = {which: name for name, which in events.names.items()}
    uses = [KernelUse(name=names[w], calls=n, total_us=time_us[w], in_steps=n) for w, n in calls.items()]
    return tuple(sorted(uses, key=lambda use: -use.total_us))
