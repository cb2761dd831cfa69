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
from collections.abc import Sequence

from tokgate.records.phases import Phase
from tokgate.records.record import Record

from .cycles import Cycles, OfCycle, Part, has_phase, why_unusable
from .log_shares import ACCEPTANCE, CYCLE, NAMES, REST, Decomposition, Share
from .mean_spread import Mean, interval_of
from .phases import PHASES


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
        if why := why_unusable(side):
            return Decomposition(confidence=confidence, why=f"{name}: {why}")
    if not 0 < confidence < 1:
        return Decomposition(
            confidence=confidence, why=f"a confidence lies between 0 and 1, not at {confidence}"
        )
    if paired and len({len(v) for side in (before, after) for v in (side.accept_length, side.cycle_ms)}) != 1:
        return Decomposition(confidence=confidence, why="the sides cannot be paired: they differ in length")
    known = [p for p in PHASES if has_phase(before, p) and has_phase(after, p)]
    one_sided = [p for p in PHASES if has_phase(before, p) != has_phase(after, p)]
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
