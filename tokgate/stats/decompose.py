"""What a change in speed is made of: acceptance, draft, verify, extend and rest, in shares that sum to the whole.

tok/s = accept length / cycle, so log(after / before) = log of accept lengths less log of cycles. The cycles' part is
split with the logarithmic mean L = (after - before) / log(after / before) of the two cycles: a phase's share is
-(after - before) / L of that phase. As the phases and the rest add up to the cycle, the shares add up to the whole
change exactly, and trading places flips every sign (additive LMDI-I: Ang, Energy Policy 32, 2004, 1131).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from scipy import stats

from tokgate.records.phases import Phase, PhaseReading
from tokgate.records.record import Record

from .phases import PHASES

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


class Cycles(Record):
    """One side: per generation accept length and cycle; milliseconds of each phase, by call or window, or a `Part`.

    A phase with one value only, or without a spread, leaves its share without an interval.
    """

    accept_length: tuple[float, ...]
    cycle_ms: tuple[float, ...]  # of the same generations
    phases: Mapping[Phase, tuple[float, ...] | Part] = {}


class Share(Record):
    name: str  # "acceptance", "draft", "verify", "extend", "rest", "whole"
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
    """`shares` are in the order of NAMES between acceptance and rest; `why` is set where there are none."""

    whole: Share | None = None
    shares: tuple[Share, ...] = ()
    confidence: float
    method: str = METHOD
    why: str | None = None
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """Return one line, the largest share first: "tok/s -4.7 %: verify -4.4 %, …" in log per cent."""
        if self.whole is None:
            return f"the change cannot be split: {self.why}"
        ordered = sorted(self.shares, key=lambda s: -abs(s.log))
        parts = ", ".join(f"{s.name} {s.log:+.1%}" for s in ordered)
        return f"tok/s {self.whole.factor - 1:+.1%} (log {self.whole.log:+.1%}): {parts}"


def decompose(before: Cycles, after: Cycles, *, confidence: float = 0.95) -> Decomposition:
    """Split the change from `before` to `after`; never raises on odd numbers.

    A phase that only one side knows counts as rest on both sides, and a warning says so. Intervals are of the log
    shares: variances of the means added up (values taken as independent, accept length and cycle of a generation as
    a pair for the whole), with Welch and Satterthwaite's degrees of freedom.
    """
    for name, side in (("before", before), ("after", after)):
        if why := _why_unusable(side):
            return Decomposition(confidence=confidence, why=f"{name}: {why}")
    if not 0 < confidence < 1:
        return Decomposition(
            confidence=confidence, why=f"a confidence lies between 0 and 1, not at {confidence}"
        )
    known = [p for p in PHASES if before.phases.get(p) and after.phases.get(p)]
    one_sided = [p for p in PHASES if bool(before.phases.get(p)) != bool(after.phases.get(p))]
    cycles = (_Mean.of(before.cycle_ms), _Mean.of(after.cycle_ms))
    middle = logarithmic_mean(cycles[0].mean, cycles[1].mean)
    lengths = (_Mean.of(before.accept_length), _Mean.of(after.accept_length))
    acceptance = math.log(lengths[1].mean / lengths[0].mean)
    shares = [
        Share(
            name="acceptance",
            log=acceptance,
            interval=_interval(acceptance, [m.relative() for m in lengths], confidence),
            before=lengths[0].mean,
            after=lengths[1].mean,
        )
    ]
    parts: list[_Mean] = []
    rests = [c.mean for c in cycles]
    for phase in known:
        sides = (_Mean.of(before.phases[phase]), _Mean.of(after.phases[phase]))
        shares.append(
            _share(
                NAMES[phase],
                (sides[0].mean, sides[1].mean),
                list(sides),
                middle=middle,
                confidence=confidence,
            )
        )
        parts += sides
        rests = [rest - side.mean for rest, side in zip(rests, sides, strict=True)]
    shares.append(
        _share("rest", (rests[0], rests[1]), [*cycles, *parts], middle=middle, confidence=confidence)
    )
    whole = acceptance - math.log(cycles[1].mean / cycles[0].mean)
    warnings = [f"{p.value} is known on one side only: it counts as rest" for p in one_sided]
    if min(rests) < 0:
        warnings.append("the phases add up to more than the cycle: their clocks disagree")
    return Decomposition(
        whole=Share(
            name="whole",
            log=whole,
            interval=_interval(whole, [_paired(before), _paired(after)], confidence),
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


class _Mean(Record):
    mean: float
    variance: float | None  # of the mean; None: one value
    n: int

    @classmethod
    def of(cls, values: Sequence[float] | Part) -> _Mean:
        if isinstance(values, Part):
            known = values.sd_ms is not None and values.n > 1
            spread = values.sd_ms**2 / values.n if known and values.sd_ms is not None else None
            return cls(mean=values.mean_ms, variance=spread, n=values.n)
        variance = statistics.variance(values) / len(values) if len(values) > 1 else None
        return cls(mean=statistics.fmean(values), variance=variance, n=len(values))

    def relative(self) -> _Mean:
        """The same in parts of the mean: the variance of its logarithm."""
        return self.scaled(1 / self.mean)

    def scaled(self, factor: float) -> _Mean:
        variance = None if self.variance is None else self.variance * factor**2
        return _Mean(mean=self.mean * factor, variance=variance, n=self.n)


def _share(
    name: str, sides: tuple[float, float], means: list[_Mean], *, middle: float, confidence: float
) -> Share:
    before, after = sides
    log = -(after - before) / middle
    interval = _interval(log, [m.scaled(1 / middle) for m in means], confidence)
    return Share(name=name, log=log, interval=interval, before=before, after=after)


def _paired(side: Cycles) -> _Mean:
    """The logarithm of one side's speed, with the spread of its generations: length and cycle vary together."""
    if len(side.accept_length) != len(side.cycle_ms) or len(side.cycle_ms) < 2:
        length, cycle = _Mean.of(side.accept_length).relative(), _Mean.of(side.cycle_ms).relative()
        both = None if length.variance is None or cycle.variance is None else length.variance + cycle.variance
        return _Mean(mean=0.0, variance=both, n=min(length.n, cycle.n))
    lengths, cycles = statistics.fmean(side.accept_length), statistics.fmean(side.cycle_ms)
    pairs = zip(side.accept_length, side.cycle_ms, strict=True)
    return _Mean.of([a / lengths - c / cycles for a, c in pairs])


def _interval(log: float, means: Sequence[_Mean], confidence: float) -> tuple[float, float] | None:
    variances = [(m.variance, m.n) for m in means]
    total = math.fsum(v for v, _ in variances if v is not None)
    if any(v is None for v, _ in variances) or not math.isfinite(total):
        return None
    if total == 0:
        return (log, log)
    # Parts of the whole first: squares of tiny variances would be 0.
    freedom = 1 / math.fsum((v / total) ** 2 / (n - 1) for v, n in variances if v)
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(total)
    return (log - half, log + half)


def _why_unusable(side: Cycles) -> str | None:
    for name, values in (("accept length", side.accept_length), ("cycle", side.cycle_ms)):
        if not values:
            return f"no {name} is known"
        if not all(math.isfinite(v) and 1e-12 < v < 1e12 for v in values):
            return f"a value of {name} is no measurement"
    for phase, part in side.phases.items():
        values = (part.mean_ms, part.sd_ms or 0.0) if isinstance(part, Part) else part
        if not all(math.isfinite(v) and 0 <= v < 1e12 for v in values):
            return f"a value of {phase.value} is no measurement"
    return None
