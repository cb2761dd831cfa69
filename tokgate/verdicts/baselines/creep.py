"""How far a number stands below the best that was ever accepted of it: the sum of accepted losses, less what was won back.

Each update of a baseline may look small, and twenty small ones are a quarter of the speed. So a file remembers its anchor
and every level accepted since (ledger.py), and the loss that has come together is held to a budget.

Gains pay back losses, but never run up a credit: the sum is c = max(0, c + loss) over the updates, which is the distance
from the best accepted level. Adding up losses alone would spend the budget on noise: levels that differ by 0.5 % for no
reason lose 0.28 % at every update by chance, and would have spent 5 % after 18 updates in which nothing moved. Of the same
noise the distance from the best is 1.0 % on average after twenty updates, and 2.3 % in one case of a hundred.
"""

from __future__ import annotations

from itertools import pairwise

from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.verdicts.metrics import METRICS, Metric, stored_floor_of

from .file import BaselineFile

# The default budget of 5 % is 2.5 floors of 2 %. A metric that differs by more from run to run has a larger floor, and
# would spend 5 % on noise alone: it is given as many of its own floors.
FLOORS = 2.5


class Creep(Record):
    """Of one metric of one baseline; losses are relative and positive, whichever way the metric points."""

    metric: str
    anchor: float  # in the metric's unit
    since: str  # ISO 8601: when the anchor was stored
    best: float  # the best level accepted since, the anchor included
    best_when: str
    now: float
    updates: int  # accepted since the anchor
    spent: float  # the loss from best to now, never below 0
    lost: float  # every accepted loss added up, what was won back not subtracted
    budget: float

    @property
    def over(self) -> bool:
        return self.spent > self.budget

    @property
    def words(self) -> str:
        """Return e.g. "crept 3.1 % of 5.0 % since 2026-11-29 (88.8, now 86.0 tok/s; 4 updates)"."""
        metric = METRICS[self.metric]
        many = "1 update" if self.updates == 1 else f"{self.updates} updates"
        return (
            f"crept {self.spent:.1%} of {self.budget:.1%} since {self.best_when[:10]} ({metric.bare(self.best)}, now "
            f"{metric.text(self.now)}; anchor {metric.bare(self.anchor)} of {self.since[:10]}, {many})"
        )


def budget_of(rig: Rig, metric: Metric, reference: float) -> float:
    """Return the relative loss that updates may add up to: the rig's, or 2.5 floors where those are more."""
    floor = stored_floor_of(rig, metric)
    return max(rig.baselines.creep, FLOORS * max(floor.relative, floor.absolute / reference))


def creep_of(rig: Rig, baseline: BaselineFile, metric: Metric) -> Creep | None:
    """Return how far a stored metric has crept; None where the baseline has no such metric."""
    steps = _steps(baseline, metric)
    if not steps:
        return None
    anchor, now = steps[0], steps[-1]
    best = min(steps, key=lambda step: metric.loss(step[1] / anchor[1] - 1))
    return Creep(
        metric=metric.name,
        anchor=anchor[1],
        since=anchor[0],
        best=best[1],
        best_when=best[0],
        now=now[1],
        updates=len(baseline.accepted),
        spent=max(0.0, metric.loss(now[1] / best[1] - 1)),
        lost=sum(max(0.0, metric.loss(after / before - 1)) for (_, before), (_, after) in pairwise(steps)),
        budget=budget_of(rig, metric, anchor[1]),
    )


def crept(baseline: BaselineFile, metric: Metric) -> float | None:
    """Return the loss from the best accepted level to what is stored, without a rig to hold it to."""
    values = [value for _, value in _steps(baseline, metric)]
    return max(0.0, *(metric.loss(values[-1] / one - 1) for one in values)) if values else None


def _steps(baseline: BaselineFile, metric: Metric) -> list[tuple[str, float]]:
    """Return when and how much, from the anchor on; the last is what is stored now."""
    anchor, current = baseline.anchored.get(metric.name), baseline.levels.get(metric.name)
    if anchor is None or current is None:
        return []
    steps = [(anchor.when, anchor.value)]
    steps += [
        (one.when, one.levels[metric.name].value) for one in baseline.accepted if metric.name in one.levels
    ]
    if baseline.accepted and metric.name not in baseline.accepted[-1].levels:
        steps.append((baseline.provenance.when, current.value))
    return steps


def creeps_of(rig: Rig, baseline: BaselineFile) -> tuple[Creep, ...]:
    """Return the creep of every metric that a baseline holds, in the order of the table."""
    found = (creep_of(rig, baseline, metric) for metric in METRICS.values())
    return tuple(one for one in found if one is not None)


def beyond(rig: Rig, old: BaselineFile | None, new: BaselineFile) -> tuple[Creep, ...]:
    """Return what an update would lose beyond the budget: metrics that are over it and get worse by this update.

    One that was over already, knowingly accepted, and does not get worse is none.
    """
    if old is None:
        return ()
    before = {one.metric: one for one in creeps_of(rig, old)}
    return tuple(
        one
        for one in creeps_of(rig, new)
        if one.over and one.spent > (before[one.metric].spent if one.metric in before else 0.0) + 1e-9
    )
