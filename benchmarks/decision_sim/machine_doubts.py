"""What makes a simulated session invalid: a machine that drifted, and restarts that fall into two modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tokgate.stats.modes import two_modes

from .arms import PRIOR_SD, Arm, Side
from .draw import Bools
from .questions import FLOOR, THROUGHPUT


def drifted_between(control: Side, arm: Arm) -> Bools:
    """Whether the control's runs before and after differ by more than the floor and than restarts do, in throughput."""
    of = arm.mine & THROUGHPUT
    moved = np.abs(control.values[:, of, 1] - control.values[:, of, 0])
    return np.asarray((moved > np.maximum(np.log1p(FLOOR[of]), arm.reach[:, of])).any(axis=1))


def drifted_since(arms: Sequence[Arm], *, planned: tuple[int, int]) -> Bools:
    """Measure the control once more where a session went on beyond its plan: the bracket must close around all of it."""
    control = arms[0]
    further = np.any([arm.launches > n for arm, n in zip(arms, planned, strict=True)], axis=0)
    machine = control.machine
    again = Side.none(machine.sessions)
    at = 2.0 * (max(arm.clock for arm in arms) + 1)
    again.add(machine.starts(machine.runs(control.session, loss=control.loss, at=at), control.plan.starts))
    control.launches += further
    of = control.mine & THROUGHPUT
    moved = np.abs(again.values[:, of, 0] - control.first[:, of])
    return np.asarray(
        further & (moved > np.maximum(np.log1p(FLOOR[of]), control.reach_of_two[:, of])).any(axis=1)
    )


def in_two_modes(arm: Arm) -> Bools:
    """Whether runs of one side, with the stored ones, fall into two modes, in throughput."""
    found = np.zeros(len(arm.open), dtype=bool)
    for side in (arm.before, arm.now):
        for question in np.flatnonzero(arm.mine & THROUGHPUT):
            found |= modes_of(side, arm.history, int(question))
    return found


def modes_of(side: Side, history: Sequence[Side], question: int) -> Bools:
    """Whether the runs of a side fall into two modes in one question, beside those of the stored sessions."""
    groups = [*(stored.values[:, question] for stored in history), side.values[:, question]]
    numbers = np.repeat(np.arange(len(groups)), [group.shape[-1] for group in groups])
    values = np.concatenate(groups, axis=-1)
    return two_modes(values, numbers, prior_sd=float(PRIOR_SD[question]), floor=float(FLOOR[question])).found
