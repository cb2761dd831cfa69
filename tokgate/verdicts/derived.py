"""A limit that follows from where speculation breaks even, against the control arm of the same session.

Such a limit is measured as the value is: accept length, cycle and verify in the launch that is judged, a plain token in
the controls. So what decides is the interval of value / limit, in which all of them are, and not the limit's number.

All of these limits ask one question, whether a cycle is shorter than the plain steps it replaces by the margin, and a
budget says from which side: by how much the cycle, the verify in it or the acceptance misses or keeps it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.summary import summarise

from .bracket import Bracket, bracketed
from .break_even import decoded_a_cycle
from .budgets import kept_ceiling, subject
from .derived_limit import DerivedLimit
from .establish import Established, invalid
from .metrics import METRICS, Metric
from .shortfall import Shortfall
from .speculating import is_off
from .twins import ALONE, cost_of_a_cycle, decode_ms, establish_twins


@dataclass(frozen=True)
class VerifyPart:
    """What verify takes of a cycle in each barrier start of the judged launch, by one rank."""

    ms: tuple[float, ...]
    source: str  # "mean by the probe, gpu clock"
    others: Mapping[str, float] = field(default_factory=dict)  # ms of the other phases, where told


@dataclass(frozen=True)
class Derivation:
    """Judges the values of one launch: `judge_metric(derive=...)` calls it, once for each margin.

    `numbers` holds the series that is judged beside the launch's own cycle and accept length. `verify` is set where
    the metric is one of verify.
    """

    rig: Rig
    numbers: Established
    controls: Sequence[LaunchEvidence]
    check: str
    verify: VerifyPart | None = None

    def __call__(self, margin: float, measured: Verdict) -> Verdict:
        """Return regressed or pass where the whole interval of value / limit lies beyond or within, else inconclusive.

        invalid: a control is missing or cannot be judged, or the launch does not tell cycle and accept length.
        """
        launch, workload = self.numbers.launch, self.numbers.workload
        twins = establish_twins(
            self.rig, launch, self.controls, workload, check=self.check, lacks="no break-even"
        )
        if isinstance(twins, Verdict):
            return twins.model_copy(update={"metric": measured.metric})
        shortfall = self._unfit(METRICS[measured.metric or ""])
        cost = cost_of_a_cycle(self.numbers, twins)
        if shortfall is not None or cost is None:
            reason = shortfall or Shortfall(
                what="no break-even: no verify calls are counted", do="see the bodies"
            )
            return invalid(
                self.check,
                [reason],
                launch=launch,
                workload=workload,
                metric=measured.metric,
                raw=measured.raw,
            )
        metric = METRICS[measured.metric or ""]
        over = [(1 + margin) * ms for ms in self._per_token(metric)]
        bracket = bracketed(over, [decode_ms(twin) for twin in twins])
        case = DerivedLimit(
            metric,
            cost,
            margin,
            statistics.median(self.numbers.series[metric.name].values),
            self._verify_ms,
            others=self.verify.others if self.verify is not None else {},
            kept=kept_ceiling(self.rig, launch, measured),
        )
        return _verdict(measured, case, bracket, twins=twins, on=subject(self.numbers), inputs=self._inputs())

    @property
    def _verify_ms(self) -> float | None:
        return None if self.verify is None else statistics.median(self.verify.ms)

    def _unfit(self, metric: Metric) -> Shortfall | None:
        off = is_off(self.rig.arm(self.numbers.launch.launch.arm), self.numbers)
        if off is not None:
            return off
        for name in ("cycle_ms", "accept_length"):
            if name not in self.numbers.series:
                return Shortfall(
                    what=f"no break-even: {name} is unknown: {self.numbers.why_missing(name)}",
                    do="see the raw bodies of that launch",
                )
        if self.verify is None:
            return None
        cycles = self.numbers.series["cycle_ms"].values
        if len(self.verify.ms) != len(cycles):
            return Shortfall(
                what=f"no break-even: verify is known of {len(self.verify.ms)} starts, the cycle of {len(cycles)}",
                do="measure again; the probe's files must hold every judged start",
            )
        verify_ms = statistics.median(self.verify.ms)
        if verify_ms >= statistics.median(cycles) or min(self._per_token(metric)) <= 0:
            return Shortfall(
                what=f"no break-even: a verify takes {verify_ms:.3f} ms ({self.verify.source}), and the "
                f"whole cycle {statistics.median(cycles):.3f} ms: one of the two is wrong",
                do="see the verdict of phases_agree",
            )
        return None

    def _per_token(self, metric: Metric) -> Iterable[float]:
        """Yield, for each start, the cycle in ms a token it decodes; with the judged verify in the place of its mean."""
        series, good = self.numbers.series, self.numbers.good
        starts = [tuple(members) for _, members in groupby(good, key=lambda g: g.batch)]
        for n, (start, cycles, lengths) in enumerate(
            zip(starts, series["cycle_ms"].by_start, series["accept_length"].by_start, strict=True)
        ):
            other = 0.0
            if self.verify is not None:
                other = series[metric.name].values[n] - self.verify.ms[n]
            yield statistics.median(
                (cycle + other) / decoded_a_cycle(length, g.asked_tokens)
                for g, cycle, length in zip(start, cycles, lengths, strict=True)
            )

    def _inputs(self) -> Iterable[str]:
        """Yield what the limit was derived from, each number with its interval."""
        series, tokens = self.numbers.series, self.numbers.good[0].asked_tokens
        cycle, length = series["cycle_ms"].values, series["accept_length"].values
        yield (
            f"of {self.numbers.launch.launch.id}: accept length {_told(length, 3)}, cycle {_told(cycle, 2)} ms, "
            f"{tokens} tokens a generation, n={len(cycle)}"
        )
        if self.verify is not None:
            rest = [c - v for c, v in zip(cycle, self.verify.ms, strict=True)]
            yield (
                f"of the same launch, which carries the instruments: verify {_told(self.verify.ms, 2)} ms "
                f"({self.verify.source}), what is left of the cycle {_told(rest, 2)} ms"
            )


def _verdict(
    measured: Verdict,
    case: DerivedLimit,
    bracket: Bracket,
    *,
    twins: Sequence[Established],
    on: str,
    inputs: Iterable[str],
) -> Verdict:
    metric, limit = case.metric, case.limit
    outcome, how, do = _judge(bracket, case, measured.workload or "")
    ratio = case.ratio(bracket.ratio) if limit is not None else None
    ends = _ends(bracket, case.ratio) if limit is not None else None
    although, why = ("", "") if outcome is Outcome.PASS else (case.although, case.room)
    label = case.label if limit is None else f"{case.label} ({metric.bare(limit)} {case.given})"
    tail = case.no_room
    if ratio is not None:
        tail = f"{ratio:.3f} of the limit" + (f", interval {_span(ends, 3)}" if ends else "")
    each = [decode_ms(twin) for twin in twins]
    return measured.model_copy(
        update={
            "outcome": outcome,
            "headline": f"{metric.words} {metric.text(case.value)} on {on} {how} {label}{although}: {why}{tail}",
            "reference": Reference(kind="budget", label=case.label, value=limit, n=sum(map(len, each))),
            "floor": f"{case.label}, the whole interval of value / limit",
            "evidence": (
                *measured.evidence,
                f"value / limit: {tail}",
                f"the value itself: {_told_value(measured, metric)}",
                case.arithmetic(),
                *inputs,
                *(
                    f"a plain token of {t.launch.launch.id}: {_told(ms, 2)} ms, n={len(ms)}; against it a cycle"
                    f"{'' if case.verify_ms is None else ' with this verify'} takes {c.ratio:.3f} of what it may"
                    f"{f' ({_span(c.interval, 3)})' if c.interval else ''}"
                    for t, ms, c in zip(twins, each, bracket.comparisons, strict=True)
                ),
                *((f"drift between the controls {bracket.drift:.1%}",) if len(twins) > 1 else ()),
            ),
            "warnings": (
                *measured.warnings,
                *((ALONE,) if len(twins) == 1 else ()),
                *dict.fromkeys(w for c in bracket.comparisons for w in c.warnings),
            ),
            "do": do,
            "raw": (*measured.raw, *(r for t in twins for r in t.raw)),
        }
    )


def _judge(bracket: Bracket, case: DerivedLimit, workload: str) -> tuple[Outcome, str, str | None]:
    """Decide by how much a cycle takes of what it may: at most all of it is within the limit, whatever the metric."""
    if bracket.interval is None:
        fewest, more = bracket.missing
        how = f"is not judged (n={fewest} a side needs {more} more) against"
        return (Outcome.INCONCLUSIVE, how, f"raise repeats of {workload} by {more}")
    low, high = bracket.interval
    if bracket.drift > abs(bracket.ratio - 1):
        how = f"is not judged (the controls drift by {bracket.drift:.1%}) against"
        do = "the controls differ by more than the value from its limit: look at clocks, heat and other load"
        return (Outcome.INCONCLUSIVE, how, f"{do}, then measure again")
    if high <= 1:
        return (Outcome.PASS, "keeps", None)
    if low > 1:
        return (Outcome.REGRESSED, "misses", case.what_now)
    do = f"raise repeats of {workload}, or quieten the machine: the limit is measured, too"
    return (Outcome.INCONCLUSIVE, "straddles", do)


def _ends(bracket: Bracket, ratio: Callable[[float], float | None]) -> tuple[float, float] | None:
    """Return the interval of value / limit; None without one, and where its far end has no limit left."""
    if bracket.interval is None:
        return None
    ends = [ratio(over) for over in bracket.interval]
    known = sorted(end for end in ends if end is not None)
    return (known[0], known[1]) if len(known) == 2 else None


def _told_value(measured: Verdict, metric: Metric) -> str:
    span = "" if measured.interval is None else f" ({_span(measured.interval, metric.decimals)})"
    return f"{metric.text(measured.value or 0.0)}{span}, n={measured.n}"


def _told(values: Sequence[float], decimals: int) -> str:
    summary = summarise(values)
    span = f" ({_span(summary.interval, decimals)})" if summary.interval else ""
    return f"{summary.median:.{decimals}f}{span}"


def _span(ends: tuple[float, float] | None, decimals: int) -> str:
    return "" if ends is None else f"{ends[0]:.{decimals}f}–{ends[1]:.{decimals}f}"  # noqa: RUF001 - a dash between numbers
