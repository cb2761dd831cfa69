"""What the gate's own rule makes of planted losses: a pure function of the values of server runs.

The first `baseline_runs` server runs that can be judged stand for a stored baseline, a session each: each began on a clean
machine. Every further `session_runs` of them are a trial, a session that is compared with it (`stored` of stats/decide.py, at
the level that a session of this rig gives the comparison): first one run, then as many more as the decision wants, a look
each time, until it is settled or the runs are used up. Given that baseline the trials are independent, so their rate has
exact bounds; that is what the user of one stored baseline lives with. Resampling, other runs as the baseline and others
as the session, shows how it varies beyond that; as such trials share runs they have no bounds.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from itertools import combinations

import scipy

from tokgate.records import Outcome
from tokgate.records.selftest import Found, PlantedLaunch, Rate
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.exact import clopper_pearson
from tokgate.stats.levels import RunValues

from .metrics import METRICS, Metric, throughput_metric
from .run_values import asked_of

MOST_RESAMPLED = 24  # comparisons of a planted loss: what is said of them is no bound


def rate(seen: int, of: int) -> Rate:
    low, high = clopper_pearson(seen, of)
    return Rate(seen=seen, of=of, low=low, high=high)


def judge_selftest(
    rig: Rig, launches: Sequence[PlantedLaunch], *, baseline_runs: int, session_runs: int
) -> tuple[Rate, tuple[Found, ...]]:
    """Return how often an unchanged server alarmed, by any metric, and what was seen of each planted loss.

    `found` has the throughput of each workload first at 0, then at each planted loss, then the other metrics at 0.
    """
    workloads = list(dict.fromkeys(b.workload for one in launches for b in one.blocks))
    found: list[Found] = []
    others: list[Found] = []
    alarmed: dict[int, bool] = {}
    for name in workloads:
        speed = throughput_metric(rig.workload(name).concurrency)
        levels = sorted({b.planted for one in launches for b in one.blocks if b.workload == name})
        for metric in METRICS.values():
            for level in levels if metric is speed else [0.0]:
                case = _Case(
                    rig,
                    launches,
                    metric=metric,
                    workload=name,
                    planted=level,
                    baseline_runs=baseline_runs,
                    session_runs=session_runs,
                )
                trials = case.trials()
                if not trials:
                    continue
                (found if metric is speed else others).append(case.found(trials))
                if level == 0.0:
                    for number, decision in enumerate(trials):
                        called = decision.outcome is Outcome.REGRESSED
                        alarmed[number] = alarmed.get(number, False) or called
    return rate(sum(alarmed.values()), len(alarmed)), (*found, *others)


class _Case:
    """One metric of one workload with one loss planted."""

    def __init__(
        self,
        rig: Rig,
        launches: Sequence[PlantedLaunch],
        *,
        metric: Metric,
        workload: str,
        planted: float,
        baseline_runs: int,
        session_runs: int,
    ) -> None:
        self._metric, self._workload, self._planted = metric, workload, planted
        self._of_baseline, self._of_session = baseline_runs, session_runs
        self._plain = _values(launches, metric.name, workload, 0.0)
        self._now = _values(launches, metric.name, workload, planted)
        # A server run that broke off, or whose blocks cannot be judged, is none.
        self._order = [
            one.launch for one in launches if one.launch in self._plain and one.launch in self._now
        ]
        self._rule = asked_of(rig, "stored", metric, workload, ()).rule

    def trials(self) -> list[Decision]:
        """Return how each session ended; nothing while the baseline is not whole."""
        baseline, later = self._sides()
        sessions = range(0, len(later) - self._of_session + 1, self._of_session)
        return [self._session(later[first : first + self._of_session], baseline) for first in sessions]

    def found(self, trials: Sequence[Decision]) -> Found:
        """Return what was found. `trials`: at least one."""
        baseline, later = self._sides()
        unconfirmed = self._rule.model_copy(update={"confirm": False})
        alone = [self._decide([launch], baseline, unconfirmed) for launch in later]
        again = [self._session(now, before) for before, now in self._resampled()]
        really = self._really()
        return Found(
            workload=self._workload,
            metric=self._metric.name,
            planted=self._planted,
            really=really[0] if really else None,
            really_interval=really[1] if really else None,
            trials=_called(trials),
            outcomes=tuple(d.outcome.value for d in trials),
            resampled=(_called(again).seen, len(again)),
            alone=_called(alone),
            smallest=statistics.median(d.smallest for d in trials),
        )

    def _sides(self) -> tuple[list[str], list[str]]:
        return self._order[: self._of_baseline], self._order[self._of_baseline :]

    def _session(self, now: Sequence[str], before: Sequence[str]) -> Decision:
        """One run, and then what the decision wants, as far as there are runs."""
        taken, look = 1, 1
        while True:
            found = self._decide(now[:taken], before, self._rule.model_copy(update={"look": look}))
            more = min(found.wants.now, len(now) - taken)
            if found.outcome is not Outcome.INCONCLUSIVE or more <= 0:
                return found
            taken, look = taken + more, look + 1

    def _decide(self, now: Sequence[str], before: Sequence[str], rule: Rule) -> Decision:
        """Compare runs of one session with runs that are a session each."""
        return decide(
            [self._now[launch].model_copy(update={"session": "now"}) for launch in now],
            [self._plain[launch] for launch in before],
            rule,
            kind="stored",
        )

    def _resampled(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Choose runs anew for both sides: every choice where there are few, MOST_RESAMPLED at random otherwise."""
        both = self._of_baseline + self._of_session
        if math.comb(len(self._order), self._of_baseline) <= MOST_RESAMPLED:
            return [
                (before, tuple(n for n in self._order if n not in before)[: self._of_session])
                for before in combinations(self._order, self._of_baseline)
            ]
        draw = random.Random(0)  # noqa: S311 - the same choice every time
        chosen = [draw.sample(self._order, both) for _ in range(MOST_RESAMPLED)]
        return [(tuple(one[: self._of_baseline]), tuple(one[self._of_baseline :])) for one in chosen]

    def _really(self) -> tuple[float, tuple[float, float] | None] | None:
        """Return the loss within server runs, planted against not: restarts are in neither, drift cancels by order."""
        if not self._planted or not self._order:
            return None
        logs = [
            math.log(statistics.median(self._now[one].values) / statistics.median(self._plain[one].values))
            for one in self._order
        ]
        mean, sign = statistics.fmean(logs), 1 if self._rule.higher_is_better else -1
        loss = -sign * math.expm1(mean)
        if len(logs) < 2:
            return loss, None
        half = (
            float(scipy.special.stdtrit(len(logs) - 1, 0.975)) * statistics.stdev(logs) / math.sqrt(len(logs))
        )
        ends = sorted(-sign * math.expm1(mean + way * half) for way in (-1, 1))
        return loss, (ends[0], ends[1])


def _called(decisions: Sequence[Decision]) -> Rate:
    return rate(sum(d.outcome is Outcome.REGRESSED for d in decisions), len(decisions))


def _values(
    launches: Sequence[PlantedLaunch], metric: str, workload: str, planted: float
) -> dict[str, RunValues]:
    """Return the values of each launch that knows the metric, all its blocks with this loss together."""
    found = {}
    for one in launches:
        values = [
            v
            for b in one.blocks
            if b.workload == workload and b.planted == planted
            for v in b.values.get(metric, ())
        ]
        if values:
            found[one.launch] = RunValues(session=one.launch, launch=one.launch, values=tuple(values))
    return found
