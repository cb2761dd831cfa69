"""What a change in speed is made of: acceptance, draft, verify, extend and rest, in shares that sum to the whole.

tok/s = accept length / cycle, so log(after / before) = log of accept lengths less log of cycles. The cycles' part is
split with the logarithmic mean L = (after - before) / log(after / before) of the two cycles: a phase's share is
-(after - before) / L of that phase. As the phases and the rest add up to the cycle, the shares add up to the whole
change exactly, and trading places flips every sign (additive LMDI-I: Ang, Energy Policy 32, 2004, 1131).

Phases may come from another server run than accept length and cycle, one that carried instruments. Then they come in as
parts of that run's own cycle (`OfCycle`), and what they are of this cycle is that part of it: a start that was a little
slower as a whole moves no phase against the others.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from tokgate.records.phases import Phase, PhaseReading
from tokgate.records.record import Record

from .mean_spread import Mean, interval_of
from .phases import PHASES

ACCEPTANCE, REST, CYCLE = "acceptance", "rest", "cycle"
NAMES = {Phase.DRAFT: "draft", Phase.VERIFY: "verify", Phase.DRAFT_EXTEND: "extend"}
METHOD = "delta method on independent means, Student's t, the logarithmic mean taken as known"


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


class Share(Record):
    name: str  # "acceptance", "draft", "verify", "extend", "rest", "whole"; "cycle": no phase is known
    log: float  # > 0: made it faster; e ** log is the factor on tok/s
    interval: tuple[float, float] | None  # of `log`; None: a side has too few values
    before: float | None  # accept length, or ms a cycle
    after: float | None

    @property
    def factor(self) -> float:
        """The factor on tok/s that this share alone makes."""
        return math.exp(self.log)

    @property
    def established(self) -> bool:
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


class Decomposition(Record):
    """`shares` are in the order of NAMES between acceptance and rest; `why` is set where there are none.

    Where no phase is known on both sides, acceptance and cycle are all there is.
    """

    whole: Share | None = None
    shares: tuple[Share, ...] = ()
    confidence: float
    method: str = METHOD
    why: str | None = None
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """Return one line, the largest share first: "tok/s -4.7 %: verify -4.4 %, …", what each alone makes of tok/s."""
        if self.whole is None:
            return f"the change cannot be split: {self.why}"
        ordered = sorted(self.shares, key=lambda s: -abs(s.log))
        parts = ", ".join(f"{s.name} {s.factor - 1:+.1%}" for s in ordered)
        return f"tok/s {self.whole.factor - 1:+.1%}: {parts} (each alone)"


def decompose(
    before: Cycles, after: Cycles, *, confidence: float = 0.95, paired: bool = False
) -> Decomposition:
    """Split the change from `before` to `after`; never raises on odd numbers.

    A phase that only one side knows counts as rest on both sides, and a warning says so. Intervals are of the log
    shares: variances of the means added up (values taken as independent, accept length and cycle of a generation as
    a pair for the whole), with Welch and Satterthwaite's degrees of freedom. `paired`: accept lengths and cycles at the
    same place are of the same prompt, so that what prompts differ in is no spread of the change; both sides then need
    as many of them.
    """
    for name, side in (("before", before), ("after", after)):
        if why := _why_unusable(side):
            return Decomposition(confidence=confidence, why=f"{name}: {why}")
    if not 0 < confidence < 1:
        return Decomposition(
            confidence=confidence, why=f"a confidence lies between 0 and 1, not at {confidence}"
        )
    if paired and len({len(v) for side in (before, after) for v in (side.accept_length, side.cycle_ms)}) != 1:
        return Decomposition(confidence=confidence, why="the sides cannot be paired: they differ in length")
    known = [p for p in PHASES if _has(before, p) and _has(after, p)]
    one_sided = [p for p in PHASES if _has(before, p) != _has(after, p)]
    cycles = (Mean.of(before.cycle_ms), Mean.of(after.cycle_ms))
    middle = logarithmic_mean(cycles[0].mean, cycles[1].mean)
    lengths = (Mean.of(before.accept_length), Mean.of(after.accept_length))
    acceptance = math.log(lengths[1].mean / lengths[0].mean)
    relative = [_relative(side.accept_length) for side in (before, after)]
    shares = [
        Share(
            name=ACCEPTANCE,
            log=acceptance,
            interval=interval_of(acceptance, _differing(relative, paired=paired), confidence),
            before=lengths[0].mean,
            after=lengths[1].mean,
        )
    ]
    told = [_Phases.of(side, known, cycle.mean) for side, cycle in zip((before, after), cycles, strict=True)]
    values = (before.cycle_ms, after.cycle_ms)

    def share(name: str, sides: Sequence[_Sum]) -> Share:
        log = -(sides[1].mean - sides[0].mean) / middle
        of_cycle = [[v * s.of_cycle / middle for v in c] for c, s in zip(values, sides, strict=True)]
        means = [m.scaled(1 / middle) for side in sides for m in side.own]
        if any(side.of_cycle for side in sides):
            means += _differing(of_cycle, paired=paired)
        interval = interval_of(log, means, confidence)
        return Share(name=name, log=log, interval=interval, before=sides[0].mean, after=sides[1].mean)

    shares += [share(NAMES[phase], [side.phases[phase] for side in told]) for phase in known]
    rests = [side.rest for side in told]
    shares.append(share(REST if known else CYCLE, rests))
    whole = acceptance - math.log(cycles[1].mean / cycles[0].mean)
    warnings = [f"{p.value} is known on one side only: it counts as rest" for p in one_sided]
    if min(rest.mean for rest in rests) < 0:
        warnings.append("the phases add up to more than the cycle: their clocks disagree")
    return Decomposition(
        whole=Share(
            name="whole",
            log=whole,
            interval=interval_of(whole, _of_whole(before, after, paired=paired), confidence),
            before=lengths[0].mean / cycles[0].mean * 1e3,
            after=lengths[1].mean / cycles[1].mean * 1e3,
        ),
        shares=tuple(shares),
        confidence=confidence,
        warnings=tuple(warnings),
    )


def logarithmic_mean(a: float, b: float) -> float:
    """Return (b - a) / log(b / a) of two numbers above 0; it lies between them.

    >>> logarithmic_mean(2.0, 2.0)
    2.0
    """
    low, high = min(a, b), max(a, b)
    ratio = (high - low) / low
    # log1p keeps its digits where both are all but equal; where it has none left the quotient is their middle.
    return (a + b) / 2 if ratio < 1e-9 else (high - low) / math.log1p(ratio)


class _Sum(Record):
    """Milliseconds a cycle: `of_cycle` of them vary with the cycle, and independent means that vary on their own."""

    mean: float
    own: tuple[Mean, ...] = ()
    of_cycle: float = 0.0  # the part of the cycle's own spread that is in it


class _Phases(Record):
    """Milliseconds a cycle on one side, and what is left of the cycle."""

    phases: dict[Phase, _Sum]
    rest: _Sum

    @classmethod
    def of(cls, side: Cycles, known: Sequence[Phase], cycle: float) -> _Phases:
        given = {p: side.phases[p] for p in known}
        parts = {p: v.parts for p, v in given.items() if isinstance(v, OfCycle)}
        if given and len(parts) == len(given) and len({len(v) for v in parts.values()}) == 1:
            # Of one start: what one phase has more of the cycle the rest has less.
            left = tuple(1 - math.fsum(of_start) for of_start in zip(*parts.values(), strict=True))
            return cls(phases={p: _part(v, cycle) for p, v in parts.items()}, rest=_part(left, cycle))
        phases = {p: _phase(v, cycle) for p, v in given.items()}
        left_ms = cycle - math.fsum(v.mean for v in phases.values())
        own = tuple(m for v in phases.values() for m in v.own)
        of_cycle = 1 - math.fsum(v.of_cycle for v in phases.values())
        return cls(phases=phases, rest=_Sum(mean=left_ms, own=own, of_cycle=of_cycle))


def _phase(told: tuple[float, ...] | Part | OfCycle, cycle: float) -> _Sum:
    if isinstance(told, OfCycle):
        return _part(told.parts, cycle)
    mean = Mean.told(told.mean_ms, told.sd_ms, told.n) if isinstance(told, Part) else Mean.of(told)
    return _Sum(mean=mean.mean, own=(mean,))


def _part(parts: Sequence[float], cycle: float) -> _Sum:
    part = Mean.of(parts)
    return _Sum(mean=part.mean * cycle, own=(part.scaled(cycle),), of_cycle=part.mean)


def _relative(values: Sequence[float]) -> list[float]:
    mean = statistics.fmean(values)
    return [v / mean for v in values]


def _differing(sides: Sequence[Sequence[float]], *, paired: bool) -> list[Mean]:
    """Return the means whose variances add up to that of the difference of two sides."""
    if not paired:
        return [Mean.of(side) for side in sides]
    before, after = sides
    return [Mean.of([b - a for a, b in zip(before, after, strict=True)])]


def _of_whole(before: Cycles, after: Cycles, *, paired: bool) -> list[Mean]:
    """The logarithm of a side's speed, with the spread of its generations: length and cycle vary together."""
    sides = []
    for side in (before, after):
        lengths, cycles = _relative(side.accept_length), _relative(side.cycle_ms)
        if len(lengths) != len(cycles):
            return [
                Mean.of(v)
                for s in (before, after)
                for v in (_relative(s.accept_length), _relative(s.cycle_ms))
            ]
        sides.append([a - c for a, c in zip(lengths, cycles, strict=True)])
    return _differing(sides, paired=paired)


def _has(side: Cycles, phase: Phase) -> bool:
    told = side.phases.get(phase)
    return bool(told.parts if isinstance(told, OfCycle) else told)


def _why_unusable(side: Cycles) -> str | None:
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
