"""Where a session stands with its sampling: what one more run costs, what is left, and what the stop rule says to it.

All of it follows from rig, launches and verdicts, so that a stored run is told the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tokgate.records import LaunchEvidence, Verdict
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s

from .arm_restarts import taking
from .lost_side import lost_sides
from .phases_of_change import phases_wanted
from .questions import questions_of
from .stop_rule import More, Stop, what_next
from .subjects import on_side, subject_of


def costs_of(launches: Sequence[LaunchEvidence]) -> dict[str, float]:
    """Return what one more run of each subject is reckoned to take, in seconds: as long as its last one."""
    return {
        subject: evidence.wall_s
        for evidence in launches
        if (subject := subject_of(evidence.launch)) is not None and evidence.wall_s is not None
    }


def left_of(rig: Rig, launches: Sequence[LaunchEvidence]) -> float:
    """Return the seconds of the budget that restarts have left."""
    spent = math.fsum(e.wall_s or 0.0 for e in launches if e.launch.round and e.launch.role != "culprit")
    return max(0.0, restart_budget_s(rig) - spent)


def next_step(rig: Rig, launches: Sequence[LaunchEvidence], verdicts: Sequence[Verdict]) -> Stop | More:
    """Ask the stop rule. `launches`: planned ones and restarts in order; `verdicts`: as they are now."""
    spec, questions = rig.sampling, questions_of(verdicts)
    if spec.gpu_time_s == 0:
        return Stop(
            reason="sampling.gpu_time_s is 0 in the rig",
            unsettled=tuple(q.words for q in questions if not q.settled),
        )
    lost = tuple(lost_sides(launches))
    if (head := next((one for one in lost if one.side == HEAD), None)) is not None:
        return Stop(
            reason=f"{head.arm} does not start on the head of the change: that comes first",
            unsettled=tuple(q.words for q in questions if not q.settled),
        )
    made = Counter(subject_of(e.launch) for e in launches if e.launch.round)
    costs = costs_of(launches)
    left_runs = {subject: spec.most_restarts - made[subject] for subject in costs}
    void = bool(questions) and all(q.void for q in questions)  # nothing of it could be stored either
    if not void and (more := _least(rig, launches, costs, made)) is not None:
        return more.model_copy(update={"unsettled": tuple(q.words for q in questions if not q.settled)})
    more = phases_wanted(rig, launches, costs, verdicts, left_of(rig, launches)) if not void else None
    if more is not None:
        return more.model_copy(update={"unsettled": tuple(q.words for q in questions if not q.settled)})
    # A base that does not start has nothing to be restarted; the promises on its head are asked all the same.
    without = [
        arm.name for arm in rig.arms if any(one.everywhere(rig) or one.arm == arm.name for one in lost)
    ]
    bases = {arm.name: on_side(arm.name, BASE) for arm in rig.arms if arm.name not in without}
    return what_next(
        questions,
        costs,
        left_of(rig, launches),
        left_runs=left_runs,
        control=rig.control.name,
        sides={arm: base for arm, base in bases.items() if base in costs},
    )


def _least(
    rig: Rig, launches: Sequence[LaunchEvidence], costs: Mapping[str, float], made: Mapping[str | None, int]
) -> More | None:
    """Return the restarts that the rig wants of every arm, a control behind them; None: all are made, or do not fit."""
    least, control = rig.sampling.least_restarts, rig.control.name
    ended_badly = {e.launch.arm for e in launches if e.failure is not None or e.faults}
    runs = {
        arm.name: least - made.get(arm.name, 0)
        for arm in rig.arms
        if arm.kind == "eagle3"
        and arm.name in costs
        and arm.name not in ended_badly
        and made.get(arm.name, 0) < least
    }
    if runs and control in costs and control not in ended_badly:
        runs[control] = 1
    cost = math.fsum(n * costs[arm] for arm, n in runs.items())
    if not runs or cost > left_of(rig, launches):
        return None
    return More(
        runs=runs,
        workloads=tuple(w.name for w in rig.workloads if taking(launches, w.name)),
        cost_s=cost,
        reason=f"sampling.least_restarts = {least}",
    )


def wanted_words(more: More) -> str:
    """Return "2 more of eagle3-2step and 1 more of baseline"."""
    return " and ".join(f"{n} more of {subject}" for subject, n in more.runs.items())
