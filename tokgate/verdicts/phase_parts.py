"""Phases as parts of the cycle of the launch they were read in, pooled over the launches of one side."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

from tokgate.records.phases import Phase, PhaseSource
from tokgate.records.record import Record
from tokgate.stats.phases import PHASES

from .launch_phases import LaunchPhases, PhaseRead

PROBE: PhaseSource = "probe"
_Read = Mapping[Phase, PhaseRead]


class PhaseParts(Record):
    """What one source tells over all launches of a side: each phase as parts of the cycle of its own launch."""

    source: PhaseSource
    clock: Literal["gpu", "wall", "host"]
    spread: PhaseSource | None  # what told how starts differ; None: nothing did, a launch is one value
    cycle_ms: tuple[float, ...]  # of those launches, a value a start
    parts: dict[Phase, tuple[float, ...]]  # all of one length


def parts_of(launches: Sequence[LaunchPhases], source: PhaseSource) -> PhaseParts | None:
    """Pool the launches of a side by one source; None where it tells nothing, or by two clocks.

    A phase that one launch lacks is no phase of the side. The probe has a value a start. The device timer has one mean
    a launch; where the probe was there as well, that mean is spread as the probe's starts are.
    """
    told = [(one, _by_phase(one, source)) for one in launches]
    told = [(one, read) for one, read in told if Phase.VERIFY in read]
    clocks = {read[Phase.VERIFY].clock for _, read in told}
    if len(clocks) != 1:
        return None
    known = [p for p in PHASES if all(p in read for _, read in told)]
    every = [_of_launch(one, read, known) for one, read in told]
    if not all(every):
        return None
    spread = {s for _, s in (found for found in every if found is not None)}
    return PhaseParts(
        source=source,
        clock=clocks.pop(),
        spread=spread.pop() if len(spread) == 1 else None,
        cycle_ms=tuple(v for one, _ in told for v in _cycles(one).values()),
        parts={p: tuple(v for found in every if found is not None for v in found[0][p]) for p in known},
    )


def _of_launch(
    one: LaunchPhases, read: _Read, known: Sequence[Phase]
) -> tuple[dict[Phase, list[float]], PhaseSource | None] | None:
    """Return the parts of one launch, and what told how its starts differ; None where no start has every phase."""
    cycles = _cycles(one)
    starts = _starts(read, known, cycles)
    if starts is not None:
        return (starts, read[Phase.VERIFY].source) if starts[Phase.VERIFY] else None
    whole = statistics.fmean(cycles.values())
    means = {p: read[p].mean_ms / whole for p in known}
    beside = _starts(_by_phase(one, PROBE), known, cycles)
    if beside is None or len(beside[Phase.VERIFY]) < 2:
        return {p: [mean] for p, mean in means.items()}, None
    spread = {}
    for p, mean in means.items():
        middle = statistics.fmean(beside[p])
        spread[p] = [mean + part - middle for part in beside[p]]
    if any(part < 0 for parts in spread.values() for part in parts):
        return {p: [mean] for p, mean in means.items()}, None
    return spread, PROBE


def _starts(
    read: _Read, known: Sequence[Phase], cycles: Mapping[int, float]
) -> dict[Phase, list[float]] | None:
    """Return each phase's part of the cycle, start by start; None where a phase has no single calls."""
    if not all(p in read and read[p].starts for p in known):
        return None
    by_start = {p: {s.batch: s.mean_ms for s in read[p].starts} for p in known}
    common = [batch for batch in cycles if all(batch in starts for starts in by_start.values())]
    return {p: [starts[batch] / cycles[batch] for batch in common] for p, starts in by_start.items()}


def _by_phase(one: LaunchPhases, source: PhaseSource) -> dict[Phase, PhaseRead]:
    return {r.phase: r for r in one.readings if r.source == source}


def _cycles(one: LaunchPhases) -> dict[int, float]:
    return {c.batch: statistics.fmean(c.cycle_ms) for c in one.cycles}
