"""One side of a change in speed: accept length, cycle, and phases by call, by reading or as parts of the cycle."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tokgate.records.phases import Phase, PhaseReading
from tokgate.records.record import Record


class Part(Record):
    """A phase of which a reading tells the spread, but not each call."""

    mean_ms: float
    sd_ms: float | None  # of single calls
    n: int

    @classmethod
    def of(cls, reading: PhaseReading) -> Part:
        return cls(mean_ms=reading.mean_ms, sd_ms=reading.sd_ms, n=reading.n)


class OfCycle(Record):
    """A phase as parts of a cycle, 0 to 1, one value a start of the launch it was read in."""

    parts: tuple[float, ...]


class Cycles(Record):
    """One side: per generation accept length and cycle; milliseconds of each phase, by call or window, or a `Part`.

    Or each phase as a part of the cycle, with as many values as every other phase has (`OfCycle`). A phase with one
    value only, or without a spread, leaves its share without an interval.
    """

    accept_length: tuple[float, ...]
    cycle_ms: tuple[float, ...]  # of the same generations
    phases: Mapping[Phase, tuple[float, ...] | Part | OfCycle] = {}


def has_phase(side: Cycles, phase: Phase) -> bool:
    """Say whether a side knows a number of a phase."""
    told = side.phases.get(phase)
    return bool(told.parts if isinstance(told, OfCycle) else told)


def why_unusable(side: Cycles) -> str | None:
    """Return why a side cannot be part of a change; None where it can."""
    for name, values in (("accept length", side.accept_length), ("cycle", side.cycle_ms)):
        if not values:
            return f"no {name} is known"
        if not all(math.isfinite(v) and 1e-12 < v < 1e12 for v in values):
            return f"a value of {name} is no measurement"
    for phase, part in side.phases.items():
        values = _numbers(part)
        if not all(math.isfinite(v) and 0 <= v < 1e12 for v in values):
            return f"a value of {phase.value} is no measurement"
    return None


def _numbers(told: tuple[float, ...] | Part | OfCycle) -> tuple[float, ...]:
    if isinstance(told, Part):
        return (told.mean_ms, told.sd_ms or 0.0)
    return told.parts if isinstance(told, OfCycle) else told
