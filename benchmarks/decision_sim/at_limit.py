"""Arms whose true value lies exactly at a limit, and how often they are called: fixed limits, and the ratio to a twin.

By the product's own code: tokgate/stats/{levels,bounds,confirm,modes}.py. What is at the limit is the quick mode, where a
machine has two; a slow one then misses it, and a session that calls that has a false alarm. The session measures the
control twice and the arm once, then one run of the arm at a time, each with a control behind it, and looks after each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tokgate.stats.bounds import MODES, Bounds, by_modes, of_twins
from tokgate.stats.confirm import AGREE, FARTHEST, SHARE
from tokgate.stats.levels import Floats, Spread, of_a_median, of_runs

from .arms import PRIOR_SD, STARTS, Side, reach_of
from .draw import Bools, Ints, Machine, Result
from .judged import of_question
from .machine_doubts import modes_of
from .questions import ARM, FLOOR, HIGHER, THROUGHPUT, WORKLOAD, WORKLOADS
from .worlds import WARMUPS

# Speed of one stream: of the control and of the arm.
CONTROL, OF_ARM = (int(np.flatnonzero(THROUGHPUT & (WORKLOAD == 0) & (arm == ARM))[0]) for arm in (0, 1))
MOST = 7  # server runs of the arm: one planned and most_restarts


class Plan(NamedTuple):
    ratio: bool  # the arm against its twin; else each arm against a fixed limit of its own
    sessions: int  # in the stored baseline
    runs_each: int = 2


def at_limit(machine: Machine, *, loss: float, plan: Plan) -> Result:
    """Judge sessions in which nothing but the configuration of the arm is worse, by `loss`, than its limit."""
    n = machine.sessions
    here = np.zeros((n, len(ARM)))  # the limit lies where this session does
    stored = [_runs(machine, machine.session(), 0.0, 0.0, plan.runs_each) for _ in range(plan.sessions)]
    control, arm = _runs(machine, here, 0.0, 0.0), _runs(machine, here, loss, 1.0)
    control.add(_starts(machine, here, 0.0, 2.0))
    hit, invalid, launches = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.full(n, 3.0)
    going, look = np.arange(n), 1  # sessions that are open, and the arrays of runs hold
    while True:
        split = modes_of(arm, stored, OF_ARM) | modes_of(control, stored, CONTROL) | _drifted(control, stored)
        looked = (
            [_ratio(control, arm, stored, look)]
            if plan.ratio
            else [_fixed(arm, stored, OF_ARM, look), _fixed(control, stored, CONTROL, look)]
        )
        missed = [found.regressed & confirmed for found, confirmed in looked]
        lost = np.any(missed, axis=0) & ~split
        settled = np.all(
            [miss | found.passed for miss, (found, _) in zip(missed, looked, strict=True)], axis=0
        )
        hit[going], invalid[going] = lost, split
        open_ = ~(split | settled | lost)
        going, here = going[open_], here[open_]
        if not len(going) or arm.runs >= MOST:
            break
        arm, control, stored = arm.of(open_), control.of(open_), [side.of(open_) for side in stored]
        at, look = float(1 + 2 * look), look + 1
        arm.add(_starts(machine, here, loss, at))
        control.add(_starts(machine, here, 0.0, at + 1))
        launches[going] += 2
    undecided = np.zeros(n, dtype=bool)
    undecided[going] = True
    return Result(hit, invalid, undecided, launches, launches * WORKLOADS * (STARTS + WARMUPS))


def _starts(machine: Machine, of: Floats, loss: float, at: float, number: int = 1) -> Floats:
    return machine.starts(machine.runs(of, loss=loss, at=at, number=number), STARTS)


def _runs(machine: Machine, of: Floats, loss: float, at: float, number: int = 1) -> Side:
    side = Side.none(machine.sessions)
    side.add(_starts(machine, of, loss, at, number))
    return side


def _spread(side: Side, stored: Sequence[Side], question: int) -> Spread:
    sides = [side, *stored]
    squares, df = sum(one.squares for one in sides), sum(one.df for one in sides)
    by_starts = of_a_median(np.asarray(squares / df), STARTS)
    found = of_runs([one.values for one in sides], by_starts, PRIOR_SD)
    return Spread(found.variance[:, question], found.df[:, question])


def _fixed(side: Side, stored: Sequence[Side], question: int, look: int) -> tuple[Bounds, Bools]:
    """Hold one arm against the limit 0, on the scale."""
    now, spread = side.values[:, question], _spread(side, stored, question)
    found = _of_limit(
        now.mean(axis=-1), Spread(spread.variance / side.runs, spread.df), question, look, "limit"
    )
    sign = 1.0 if HIGHER[question] else -1.0
    beyond = (sign * now < 0).sum(axis=-1)
    kept, agreed = side.runs - beyond, np.zeros(len(now), dtype=int)
    for one in stored:
        values = one.values[:, question]
        missing = sign * values < 0
        kept = kept + (~missing).sum(axis=-1)
        agreed += missing.all(axis=-1) & (np.ptp(values, axis=-1) < np.abs(now.mean(axis=-1)) / 2)
    runs = stored[0].runs if stored else 0
    chance = _each(kept, beyond, agreed, runs, SHARE)
    return found, np.where(found.loss >= FARTHEST, beyond >= AGREE, (chance <= MODES) & (beyond >= AGREE))


def _ratio(control: Side, arm: Side, stored: Sequence[Side], look: int) -> tuple[Bounds, Bools]:
    """Hold the ratio of the arm to its twin against the limit 1."""
    now, before = arm.values[:, OF_ARM], control.values[:, CONTROL]
    total = of_twins(
        _spread(control, (), CONTROL),
        _spread(arm, stored, OF_ARM),
        runs_before=control.runs,
        runs_now=arm.runs,
    )
    middle = before.mean(axis=-1)
    found = _of_limit(now.mean(axis=-1) - middle, total, OF_ARM, look, "twin")
    beyond = (now < middle[:, None]).sum(axis=-1)
    apart = np.abs(now.mean(axis=-1) - middle)
    agreed = sum(
        (np.ptp(one.values[:, question], axis=-1) < apart / 2).astype(int)
        for one in stored
        for question in (CONTROL, OF_ARM)
    )
    runs = stored[0].runs if stored else 0
    chance = _each(control.runs + arm.runs - beyond, beyond, np.broadcast_to(agreed, beyond.shape), runs, 1.0)
    return found, np.where(found.loss >= FARTHEST, beyond >= AGREE, chance <= MODES)


def _of_limit(difference: Floats, spread: Spread, question: int, look: int, kind: str) -> Bounds:
    found = of_question(difference, spread, question, kind=kind, look=look)
    return found._replace(passed=found.high <= 0)


def _each(kept: Ints, beyond: Ints, agreed: Ints, runs: int, most: float) -> Floats:
    """Return bounds.by_modes of every session."""
    told = np.stack(np.broadcast_arrays(kept, beyond, agreed), axis=-1)
    rows, where = np.unique(told, axis=0, return_inverse=True)
    chances = np.array([_by_modes(int(k), int(b), int(a), runs, most) for k, b, a in rows])
    return np.asarray(chances[where.reshape(-1)])


@cache
def _by_modes(kept: int, beyond: int, agreed: int, runs: int, most: float) -> float:
    return by_modes(kept, beyond, (runs,) * agreed, most=most)


def _drifted(control: Side, stored: Sequence[Side]) -> Bools:
    """Whether a later control lies farther from the first than restarts do, and than the floor."""
    values = control.values[:, CONTROL]
    later = values.shape[-1] - 1
    reach = reach_of(stored, len(values), later=later)[:, CONTROL]
    most = np.abs(values[:, 1:] - values[:, :1]).max(axis=-1)
    return np.asarray(most > np.maximum(np.log1p(FLOOR[CONTROL]), reach))
