"""A limit that follows from where speculation breaks even, against the control arm of the same session.

Such a limit is measured as the value is: accept length, cycle and verify in the launch that is judged, a plain token in
the controls. So what decides is the interval of value / limit, in which all of them are, and not the limit's number.

All of these limits ask one question, whether a cycle is shorter than the plain steps it replaces by the margin, and a
budget says from which side: by how much the cycle, the verify in it or the acceptance misses or keeps it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.levels import RunValues

from .arm_runs import subject_of
from .break_even import decoded_a_cycle
from .budgets import kept_ceiling
from .concluded import concluded
from .derived_limit import DerivedLimit
from .derived_words import in_words, told_with_span
from .establish import Established, invalid
from .metrics import METRICS, Metric, floor_of
from .run_values import NOW, Asked, asked_of
from .shortfall import Shortfall
from .speculating import is_off
from .twins import cost_of_a_cycle, decode_ms, establish_twins


@dataclass(frozen=True)
class VerifyPart:
    """What verify takes of a cycle in each barrier start of one judged launch, by one rank."""

    ms: tuple[float, ...]
    source: str  # "mean by the probe, gpu clock"
    others: Mapping[str, float] = field(default_factory=dict)  # ms of the other phases, where told


@dataclass(frozen=True)
class Derivation:
    """Judges the values of an arm: `judge_metric(derive=...)` calls it, once for each margin.

    `runs`: the server runs that are judged; they hold the judged series beside their own cycle and accept length.
    `verify`: one a run, where the metric is one of verify; such runs carry instruments. `timed`: runs of the arm without,
    whose starts have the same prompts: they tell which part of what starts differ by is the prompts'.
    """

    rig: Rig
    runs: Sequence[Established]
    controls: Sequence[LaunchEvidence]
    check: str
    verify: Sequence[VerifyPart] = ()
    timed: Sequence[Established] = ()

    def __call__(self, margin: float, measured: Verdict) -> Verdict:
        """Hold what a token takes in cycles against a plain token / (1 + margin), server run by server run.

        Decided as a speed-up over the twin is (`stats.decide`, with a limit on the ratio). invalid: a control is
        missing, cannot be judged or has drifted, or a run does not tell cycle and accept length.
        """
        launch, workload = self.runs[0].launch, self.runs[0].workload
        launches = [run.launch for run in self.runs]
        twins = establish_twins(
            self.rig, launches, self.controls, workload, check=self.check, lacks="no break-even"
        )
        if isinstance(twins, Verdict):
            return twins.model_copy(update={"metric": measured.metric})
        metric = METRICS[measured.metric or ""]
        shortfall = next(
            (s for n in range(len(self.runs)) if (s := self._unfit(metric, n)) is not None), None
        )
        cost = cost_of_a_cycle(self.runs, twins)
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
        case = DerivedLimit(
            metric,
            cost,
            margin,
            measured.value or 0.0,
            self._verify_ms,
            others=self.verify[0].others if self.verify else {},
            kept=kept_ceiling(self.rig, launch, measured),
        )
        asked = self._asked(metric, twins)
        decision = decide(
            [
                RunValues(session=NOW, launch=run.launch.launch.id, values=tuple(self._per_token(metric, n)))
                for n, run in enumerate(self.runs)
            ],
            [RunValues(session=NOW, launch=t.launch.launch.id, values=decode_ms(t)) for t in twins],
            asked.rule,
            kind="twin",
            limit_ratio=1 / (1 + margin),
            history=tuple(_without_instruments(run) for run in self.timed),
        )
        told = concluded(
            self.rig,
            decision,
            asked,
            METRICS["cycle_ms"],
            measured=measured,
            look=case.what_now,
            instruments=bool(self.verify),
            twin=self.rig.control.name,
        )
        return in_words(told, case, decision, twins=twins, on=subject_of(self.runs), inputs=self._inputs())

    def _asked(self, metric: Metric, twins: Sequence[Established]) -> Asked:
        """All of these limits ask for a short cycle a token, so that its direction and its noise are a cycle's."""
        asked = asked_of(
            self.rig,
            "limit",
            metric,
            self.runs[0].workload,
            (*self.runs, *twins),
            same_configuration=False,
        )
        floor = floor_of(self.rig, METRICS["cycle_ms"])
        as_a_cycle = {"higher_is_better": False, "ratio": True, "relative": floor.relative}
        return asked.model_copy(update={"rule": asked.rule.model_copy(update=as_a_cycle)})

    @property
    def _verify_ms(self) -> float | None:
        if not self.verify:
            return None
        return statistics.fmean(statistics.median(part.ms) for part in self.verify)

    def _unfit(self, metric: Metric, n: int) -> Shortfall | None:
        run = self.runs[n]
        off = is_off(self.rig.arm(run.launch.launch.arm), run)
        if off is not None:
            return off
        for name in ("cycle_ms", "accept_length"):
            if name not in run.series:
                return Shortfall(
                    what=f"no break-even: {name} is unknown: {run.why_missing(name)}",
                    do="see the raw bodies of that launch",
                )
        if not self.verify:
            return None
        cycles, part = run.series["cycle_ms"].values, self.verify[n]
        if len(part.ms) != len(cycles):
            return Shortfall(
                what=f"no break-even: verify is known of {len(part.ms)} starts, the cycle of {len(cycles)}",
                do="measure again; the probe's files must hold every judged start",
            )
        verify_ms = statistics.median(part.ms)
        if verify_ms >= statistics.median(cycles) or min(self._per_token(metric, n)) <= 0:
            return Shortfall(
                what=f"no break-even: a verify takes {verify_ms:.3f} ms ({part.source}), and the "
                f"whole cycle {statistics.median(cycles):.3f} ms: one of the two is wrong",
                do="see the verdict of phases_agree",
            )
        return None

    def _per_token(self, metric: Metric, n: int) -> Iterable[float]:
        """Yield, for each start of run `n`, the cycle in ms a token it decodes; the judged verify stands in for its mean."""
        run = self.runs[n]
        other = [0.0] * len(run.series["cycle_ms"].values)
        if self.verify:
            judged = run.series[metric.name].values
            other = [value - part for value, part in zip(judged, self.verify[n].ms, strict=True)]
        yield from _cycle_a_token(run, other)

    def _inputs(self) -> Iterable[str]:
        """Yield what the limit was derived from, each number with the interval of its starts."""
        for n, run in enumerate(self.runs):
            cycle, length = run.series["cycle_ms"].values, run.series["accept_length"].values
            yield (
                f"of {run.launch.launch.id}: accept length {told_with_span(length, 3)}, cycle {told_with_span(cycle, 2)} ms, "
                f"{run.good[0].asked_tokens} tokens a generation, n={len(cycle)}"
            )
            if self.verify:
                part = self.verify[n]
                rest = [c - v for c, v in zip(cycle, part.ms, strict=True)]
                yield (
                    f"of the same launch, which carries the instruments: verify {told_with_span(part.ms, 2)} ms "
                    f"({part.source}), what is left of the cycle {told_with_span(rest, 2)} ms"
                )


def _without_instruments(run: Established) -> RunValues:
    cycles = len(run.series["cycle_ms"].values)
    values = tuple(_cycle_a_token(run, [0.0] * cycles))
    return RunValues(session="without instruments", launch=run.launch.launch.id, values=values)


def _cycle_a_token(run: Established, more_ms: Sequence[float]) -> Iterable[float]:
    """Yield the cycle in ms a token it decodes, of each start; `more_ms`: what each start's cycles take besides."""
    starts = [tuple(members) for _, members in groupby(run.good, key=lambda g: g.batch)]
    series = run.series
    for members, cycles, lengths, more in zip(
        starts, series["cycle_ms"].by_start, series["accept_length"].by_start, more_ms, strict=True
    ):
        yield statistics.median(
            (cycle + more) / decoded_a_cycle(length, g.asked_tokens)
            for g, cycle, length in zip(members, cycles, lengths, strict=True)
        )
