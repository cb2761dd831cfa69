"""What a launch with instruments tells of its phases, start by start: as a run has it and as a baseline keeps it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, ValidationError, ValidationInfo, field_validator

from tokgate.records import Generation, LaunchEvidence, Verdict
from tokgate.records.phases import Phase, PhaseReading, PhaseSource
from tokgate.records.record import Record, Whole
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.stats.levels import RunValues
from tokgate.stats.phases import PHASES, together
from tokgate.stats.samples import samples_of

from .phases import doubts, establish_phases, slowest_verify

CHECK = "phases of a launch"
CYCLE = "cycle_ms"
SOURCES: tuple[Literal["probe", "device-timer"], ...] = ("probe", "device-timer")  # the better one first
KEPT = (*PHASES, Phase.REST, Phase.STEP)
# How far phases and rest may add up beside the step that they are the parts of: means of hundreds of calls, where a few
# steps lack a phase. Of healthy runs on a busy machine 0.05 %, and 0.33 % of a single start.
OFF_IN_ALL, OFF_IN_A_START = 0.01, 0.03

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

    @field_validator("mean_ms", "p50_ms", "p95_ms")
    @classmethod
    def _takes_time(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value == 0 and info.data.get("phase") is not Phase.REST:
            raise ValueError("0 ms: no call of a model takes no time")
        return value

    @field_validator("starts")
    @classmethod
    def _each_takes_time(cls, starts: tuple[StartRead, ...], info: ValidationInfo) -> tuple[StartRead, ...]:
        if info.data.get("phase") is not Phase.REST and not all(s.mean_ms and s.p50_ms for s in starts):
            raise ValueError("a start of 0 ms: no call of a model takes no time")
        return starts


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

    @property
    def odd(self) -> str | None:
        """Return what does not add up, by each source that tells all parts of a step; None: nothing is found odd.

        The probe has a step of its own; of the device timer the rest is what its phases leave of the cycle.
        """
        cycle = statistics.fmean(statistics.fmean(c.cycle_ms) for c in self.cycles)
        for source in SOURCES:
            read = {r.phase: r for r in self.readings if r.source == source}
            if Phase.VERIFY not in read or Phase.REST not in read:
                continue
            step = read.pop(Phase.STEP, None)
            if step is None and source == "probe":
                continue
            whole = cycle if step is None else step.mean_ms
            name = "cycle" if step is None else "step"
            total = math.fsum(r.mean_ms for r in read.values())
            if abs(total / whole - 1) > OFF_IN_ALL:
                return (
                    f"phases and rest by the {source} add up to {total:.3f} ms, its {name} is {whole:.3f} ms"
                )
            for batch, ms in _means(step).items():
                parts = [_means(r).get(batch) for r in read.values()]
                known = [p for p in parts if p is not None]
                if len(known) == len(parts) and abs(math.fsum(known) / ms - 1) > OFF_IN_A_START:
                    return (
                        f"phases and rest by the {source} add up to {math.fsum(known):.3f} ms in start {batch}, "
                        f"its {name} is {ms:.3f} ms"
                    )
        return None


def _means(read: PhaseRead | None) -> Mapping[int, float]:
    return {s.batch: s.mean_ms for s in read.starts} if read is not None else {}


def launch_phases(rig: Rig, run_id: str, launch: LaunchEvidence, workload: str) -> LaunchPhases | str:
    """Return what is known of a launch's phases, or why nothing is: it must be as fit to be judged as any other."""
    if all(w.name != workload for w in instrumented(rig).workloads):
        return f"{launch.launch.id} did not take {workload}: [instruments] of the rig leave it out"
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return established.headline
    return phases_told(run_id, launch, workload, established.good)


def phases_told(
    run_id: str, launch: LaunchEvidence, workload: str, good: Sequence[Generation]
) -> LaunchPhases | str:
    """Return the same without asking whether the launch may be judged: what a diagnosis looks at, never a verdict."""
    try:
        cycles = tuple(_cycles(good))
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
    found = LaunchPhases(
        run_id=run_id,
        launch=launch.launch.id,
        cycles=cycles,
        readings=readings,
        warnings=doubts(launch, workload),
    )
    return found if found.odd is None else f"{launch.launch.id}: {found.odd}"


def stored_runs_of(kept: Sequence[LaunchPhases]) -> dict[str, tuple[RunValues, ...]]:
    """Return verify_ms and verify_share of each launch that was kept, one value a barrier start, as their checks have them.

    By the probe alone, as those are. A launch whose probe does not tell a start is left out of that metric.
    """
    found: dict[str, list[RunValues]] = {}
    for one in kept:
        read = {r.phase: r for r in one.readings if r.source == "probe"}
        verify, steps = read.get(Phase.VERIFY), _means(read.get(Phase.STEP))
        if verify is None:
            continue
        told = {
            "verify_ms": tuple(s.p50_ms for s in verify.starts),
            "verify_share": tuple(s.mean_ms / steps[s.batch] for s in verify.starts if s.batch in steps),
        }
        for metric, values in told.items():
            if values and len(values) == len(verify.starts):
                run = RunValues(session=one.run_id, launch=one.launch, values=values)
                found.setdefault(metric, []).append(run)
    return {metric: tuple(runs) for metric, runs in found.items()}


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
    verify = slowest_verify(launch, workload) if source == "probe" else next(iter(mine), None)
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
