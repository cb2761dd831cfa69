"""What a launch with instruments tells of its phases, start by start: as a run has it and as a baseline keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, ValidationError

from tokgate.records import Generation, LaunchEvidence, Verdict
from tokgate.records.phases import Phase, PhaseReading, PhaseSource
from tokgate.records.record import Record, Whole
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.stats.phases import PHASES, together
from tokgate.stats.samples import samples_of

from .phases import doubts, establish_phases, probe_of, slowest

CHECK = "phases of a launch"
CYCLE = "cycle_ms"
SOURCES: tuple[Literal["probe", "device-timer"], ...] = ("probe", "device-timer")  # the better one first
KEPT = (*PHASES, Phase.REST, Phase.STEP)

Ms = Annotated[FiniteFloat, Field(ge=0, le=1e12)]
Cycle = Annotated[FiniteFloat, Field(ge=1e-12, le=1e12)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


class StartRead(Record):
    """The calls of one phase during one barrier start."""

    batch: Whole
    n: Whole
    mean_ms: Ms
    p50_ms: Ms
    p95_ms: Ms | None = None


class PhaseRead(Record):
    """One phase by one source, milliseconds a call; of several ranks the one whose verify takes longest."""

    phase: Phase
    source: PhaseSource
    clock: Literal["gpu", "wall", "host"]
    rank: Whole | None = None
    ranks: Whole = Field(1, description="how many told of this phase")
    n: Whole
    mean_ms: Ms
    p50_ms: Ms | None = None
    p95_ms: Ms | None = None
    sd_ms: Ms | None = None
    graph_share: Share | None = None
    starts: tuple[StartRead, ...] = Field((), description="empty: the source tells no single calls")


class CycleStart(Record):
    """The cycles of one barrier start's generations, by the server's own counters."""

    batch: Whole
    cycle_ms: Annotated[tuple[Cycle, ...], Field(min_length=1)]


class LaunchPhases(Record):
    """One launch with instruments under one workload. Its cycle is what its phases are parts of."""

    run_id: str
    launch: str
    cycles: Annotated[tuple[CycleStart, ...], Field(min_length=1)]
    readings: Annotated[tuple[PhaseRead, ...], Field(min_length=1)]
    warnings: tuple[str, ...] = ()  # what its sources do not agree on


def launch_phases(rig: Rig, run_id: str, launch: LaunchEvidence, workload: str) -> LaunchPhases | str:
    """Return what is known of a launch's phases, or why nothing is: it must be as fit to be judged as any other."""
    if all(w.name != workload for w in instrumented(rig).workloads):
        return f"{launch.launch.id} did not take {workload}: [instruments] of the rig leave it out"
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return established.headline
    try:
        cycles = tuple(_cycles(established.good))
        readings = tuple(r for source in SOURCES for r in _of_source(launch, workload, source))
    except ValidationError as error:
        first = error.errors()[0]
        return f"{launch.launch.id} tells what is no time: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if not cycles:
        return f"{launch.launch.id} has no cycle: the server counted no verify calls"
    if not any(r.phase is Phase.VERIFY for r in readings):
        unknown = launch.phases.unknown if launch.phases is not None else {}
        whys = "; ".join(f"{source}: {why}" for source, why in unknown.items())
        return f"no source of {launch.launch.id} told of verify{f': {whys}' if whys else ''}"
    return LaunchPhases(
        run_id=run_id,
        launch=launch.launch.id,
        cycles=cycles,
        readings=readings,
        warnings=doubts(launch, workload),
    )


def _cycles(good: Sequence[Generation]) -> Iterator[CycleStart]:
    found: dict[int, list[float]] = {}
    for generation in good:
        for sample in samples_of(generation):
            if sample.metric == CYCLE and sample.value:
                found.setdefault(generation.batch, []).append(sample.value)
    for batch, values in found.items():
        yield CycleStart(batch=batch, cycle_ms=tuple(values))


def _of_source(launch: LaunchEvidence, workload: str, source: PhaseSource) -> Iterator[PhaseRead]:
    table = launch.phases
    if table is None:
        return
    mine = table.find(Phase.VERIFY, source, workload=workload)
    verify = (
        slowest(probe_of(launch, Phase.VERIFY, workload)) if source == "probe" else next(iter(mine), None)
    )
    if verify is None:
        return
    for phase in KEPT:
        reading = together(table.readings, phase, verify)
        if reading is not None:
            ranks = len(table.find(phase, source, workload=workload))
            yield _read(reading, ranks)


def _read(reading: PhaseReading, ranks: int) -> PhaseRead:
    starts = tuple(
        StartRead(batch=s.batch, n=s.n, mean_ms=s.mean_ms, p50_ms=s.p50_ms, p95_ms=s.p95_ms)
        for s in reading.starts
    )
    told = reading.model_dump(include=set(PhaseRead.model_fields) - {"starts", "ranks"})
    return PhaseRead(**told, ranks=ranks, starts=starts)
