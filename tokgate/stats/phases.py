"""From calls and samples to phase readings, and what phases have to do with each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from tokgate.records import Sample
from tokgate.records.phases import GraphReading, Phase, PhaseReading, PhaseSource, PhaseStart

PHASES = (Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND)
FEWEST_FOR_P95 = 20
SHARES = (0.0, *(i / 100 for i in range(1, 100)), 0.995, 0.999, 1.0)
LONGEST_MS = 1e7  # nearly three hours: no call takes longer, and sums of such stay numbers
COST_OF_CYCLE = "nothing: the server's own counters of each answer"
COST_OF_PROBE = "two GPU events or clock reads a call; measured in every run by the probe's switch"


class TimedCall(Protocol):
    """One call of one phase, as the probe's file has it."""

    @property
    def phase(self) -> Phase: ...
    @property
    def ms(self) -> float: ...
    @property
    def requests(self) -> int | None: ...
    @property
    def graph(self) -> bool | None: ...
    @property
    def began_ns(self) -> int: ...


class _Rest(NamedTuple):
    phase: Phase
    ms: float
    requests: int | None
    graph: bool | None
    began_ns: int


def reading(
    phase: Phase,
    source: PhaseSource,
    clock: Literal["gpu", "wall", "host"],
    values: Sequence[float],
    *,
    concurrency: int,
) -> PhaseReading | None:
    """Summarise milliseconds a call; None where no value lies between 0 and LONGEST_MS."""
    ordered = sorted(v for v in values if 0 <= v <= LONGEST_MS)
    if not ordered:
        return None
    return PhaseReading(
        phase=phase,
        source=source,
        clock=clock,
        n=len(ordered),
        mean_ms=statistics.fmean(ordered),
        p50_ms=statistics.median(ordered),
        sd_ms=statistics.stdev(ordered) if len(ordered) > 1 else None,
        p95_ms=ordered[math.ceil(0.95 * len(ordered)) - 1] if len(ordered) >= FEWEST_FOR_P95 else None,
        concurrency=concurrency,
    )


def cycle_reading(samples: Iterable[Sample], *, workload: str, concurrency: int) -> PhaseReading | None:
    """Return the wall time of a cycle (of a plain arm: of a decode step), one value a generation.

    It costs nothing and is always there; it never stands in for a phase. None: nothing is known of it.
    """
    mine = [s for s in samples if s.workload == workload and s.value is not None]
    cycles = [s.value for s in mine if s.metric == "cycle_ms" and s.value]
    if any(s.metric == "accept_length" for s in mine) or cycles:
        found = reading(Phase.STEP, "cycle", "wall", cycles, concurrency=concurrency)
    else:
        plain = [1e3 / s.value for s in mine if s.metric == "decode_tok_s" and s.value]
        found = reading(Phase.DECODE, "cycle", "wall", plain, concurrency=concurrency)
    return found and found.model_copy(update={"workload": workload, "cost": COST_OF_CYCLE})


def probe_readings(
    calls: Sequence[TimedCall],
    *,
    clock: Literal["gpu", "host"],
    concurrency: int,
    workload: str | None = None,
    rank: int | None = None,
    between_ns: tuple[int, int] | None = None,
    warnings: tuple[str, ...] = (),
) -> tuple[PhaseReading, ...]:
    """Summarise one file's calls by phase, over all batches and then by batch size.

    `between_ns` leaves out calls that began outside it, on the clock of the calls themselves. The rest of a step is
    its own time less that of the phases that began within it.
    """
    inside = [c for c in calls if between_ns is None or between_ns[0] <= c.began_ns <= between_ns[1]]
    rests = rest_of_steps(inside)
    known: list[TimedCall | _Rest] = [*inside, *rests]
    sizes = sorted({c.requests for c in known if c.requests is not None})
    found: list[PhaseReading] = []
    for phase in Phase:
        mine = [c for c in known if c.phase is phase]
        for size in (None, *sizes):
            some = [c for c in mine if size is None or c.requests == size]
            one = reading(phase, "probe", clock, [c.ms for c in some], concurrency=concurrency)
            if one is None:
                continue
            told = [c.graph for c in some if c.graph is not None]
            more: dict[str, object] = {
                "workload": workload,
                "rank": rank,
                "requests": size,
                "graph_share": sum(told) / len(told) if told else None,
                "cost": COST_OF_PROBE,
                "warnings": warnings,
            }
            if phase is Phase.VERIFY and size is None:
                more["quantiles_ms"] = quantiles([c.ms for c in some])
            found.append(one.model_copy(update=more))
    return tuple(found)


def quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """Return the value that each of SHARES of the values does not exceed (nearest rank); () of none that can be."""
    ordered = sorted(v for v in values if 0 <= v <= LONGEST_MS)
    return tuple(ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in SHARES) if ordered else ()


def starts_of(phase: Phase, by_start: Mapping[int, Sequence[TimedCall]]) -> tuple[PhaseStart, ...]:
    """Summarise the calls of a phase by the barrier start they ran in; a start without any is left out."""
    found = []
    for batch, calls in sorted(by_start.items()):
        inside = rest_of_steps(calls) if phase is Phase.REST else [c for c in calls if c.phase is phase]
        one = reading(phase, "probe", "host", [c.ms for c in inside], concurrency=1)
        if one is not None and one.p50_ms is not None:
            found.append(
                PhaseStart(batch=batch, n=one.n, mean_ms=one.mean_ms, p50_ms=one.p50_ms, p95_ms=one.p95_ms)
            )
    return tuple(found)


def rest_of_steps(calls: Sequence[TimedCall]) -> list[_Rest]:
    """Return what each step took beyond its phases; steps that lack a phase, or have one twice, are left out."""
    steps = sorted((c for c in calls if c.phase is Phase.STEP), key=lambda c: c.began_ns)
    inner = sorted((c for c in calls if c.phase in PHASES), key=lambda c: c.began_ns)
    whole = {c.phase for c in inner}
    found: list[_Rest] = []
    at = 0
    ends = [*(s.began_ns for s in steps[1:]), None]
    for step, until in zip(steps, ends[: len(steps)], strict=True):
        while at < len(inner) and inner[at].began_ns < step.began_ns:
            at += 1
        mine = []
        while at < len(inner) and (until is None or inner[at].began_ns < until):
            mine.append(inner[at])
            at += 1
        left = step.ms - math.fsum(c.ms for c in mine)
        if len(mine) == len(whole) and {c.phase for c in mine} == whole and mine and left >= 0:
            found.append(_Rest(Phase.REST, left, step.requests, None, step.began_ns))
    return found


def graph_reading(calls: Iterable[TimedCall], *, concurrency: int | None = None) -> GraphReading:
    """Return the share of verify calls (without any: of plain decode steps) that ran in a graph, by the probe."""
    every = list(calls)
    phase = Phase.VERIFY if any(c.phase is Phase.VERIFY for c in every) else Phase.DECODE
    mine = [c for c in every if c.phase is phase and (concurrency is None or c.requests == concurrency)]
    told = [c.graph for c in mine if c.graph is not None]
    why = None if told else f"{len(mine)} calls of {phase.value}, and none tells whether it ran in a graph"
    share = sum(told) / len(told) if told else None
    return GraphReading(source="probe", share=share, n=len(told), concurrency=concurrency, why=why)


def rest_by_cycle(readings: Sequence[PhaseReading]) -> tuple[PhaseReading, ...]:
    """Return what the cycle has beyond its phases, for each source that tells of all three but of no step.

    A difference of two clocks: GPU time of the phases, wall time of the cycle. Below 0 it is no reading.
    """
    found: list[PhaseReading] = []
    cycles = [r for r in readings if r.source == "cycle" and r.phase is Phase.STEP]
    for first in (r for r in readings if r.phase is Phase.VERIFY and r.source == "device-timer"):
        mine = [together(readings, p, first) for p in PHASES]
        cycle = next(
            (c for c in cycles if (c.workload, c.concurrency) == (first.workload, first.concurrency)), None
        )
        if cycle is None or None in mine:
            continue
        left = cycle.mean_ms - math.fsum(r.mean_ms for r in mine if r is not None)
        if left >= 0:
            more = {
                "phase": Phase.REST, "clock": "wall", "n": cycle.n, "mean_ms": left, "graph_share": None,
                "warnings": (*first.warnings, "the cycle's wall time less the phases' GPU time"),
            }  # fmt: skip
            found.append(first.model_copy(update=more))
    return tuple(found)


def together(readings: Iterable[PhaseReading], phase: Phase, beside: PhaseReading) -> PhaseReading | None:
    """Return the reading of `phase` that was taken together with `beside`: same source, load, rank and batches."""
    return next((r for r in readings if r.phase is phase and _key(r) == _key(beside)), None)


def share_of_cycle(readings: Sequence[PhaseReading], phase: Phase, beside: PhaseReading) -> float | None:
    """Return a phase's part of the cycle, 0 to 1, by the source of `beside`: of its own step, or of the cycle."""
    part, step = together(readings, phase, beside), together(readings, Phase.STEP, beside)
    if step is None:
        step = next(
            (
                r
                for r in readings
                if (r.source, r.phase, r.concurrency, r.workload)
                == ("cycle", Phase.STEP, beside.concurrency, beside.workload)
            ),
            None,
        )
    return part.mean_ms / step.mean_ms if part is not None and step is not None and step.mean_ms > 0 else None


def _key(r: PhaseReading) -> tuple[object, ...]:
    return (r.source, r.concurrency, r.workload, r.rank, r.requests)
