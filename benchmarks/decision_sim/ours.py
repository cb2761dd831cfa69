"""The gate's own rule on simulated sessions, by the product's own code: tokgate/stats/{levels,bounds,modes}.py.

Two ways to ask whether an arm has lost. Stored: the session's runs against a baseline of six sessions with two runs
each. Twin: both sides in one session, in turn, the control arm first and last; the same baseline, where there is one, says
how much restarts differ. Both look after the planned launches and after every further round, and stop arm by arm.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .arms import Arm, Plan, Side
from .draw import Machine, Result
from .judged import by_stored, by_twin
from .machine_doubts import drifted_between, drifted_since, in_two_modes
from .questions import ARMS, THROUGHPUT, WORKLOADS
from .worlds import WARMUPS


def gate(machine: Machine, *, loss: float, plan: Plan) -> Result:
    """Judge both arms. A machine that drifted between the first and the last control makes a session invalid."""
    session = machine.session()
    history = [_stored_session(machine, plan) for _ in range(plan.sessions)]
    arms = [Arm(machine, arm, plan, session, history, loss=loss) for arm in range(ARMS)]
    drifted = np.zeros(machine.sessions, dtype=bool)
    for arm in arms:
        for number, way in enumerate(plan.ways):
            if not len(arm.open):
                break
            control = _planned(arm, way, first=number == 0)
            if number == 0 and control is not None:
                drifted = drifted_between(control, arm)
                of = arm.mine & THROUGHPUT
                moved = np.abs(control.values[:, of, 1] - control.values[:, of, 0]).max(axis=1)
                for one in arms:
                    one.moved = moved
            _sequence(arm, way, last=number == len(plan.ways) - 1)
    if "stored" in plan.ways:
        drifted |= drifted_since(arms, planned=(2, 1))
    called = np.any([arm.called for arm in arms], axis=0) & ~drifted
    invalid = (drifted | np.any([arm.invalid for arm in arms], axis=0)) & ~called
    launches = np.sum([arm.launches for arm in arms], axis=0)
    undecided = np.any([arm.undecided for arm in arms], axis=0) & ~called & ~invalid
    return Result(called, invalid, undecided, launches, launches * WORKLOADS * (plan.starts + WARMUPS))


def _stored_session(machine: Machine, plan: Plan) -> Side:
    side = Side.none(machine.sessions)
    runs = machine.runs(machine.session(), loss=0.0, at=0.0, number=plan.runs_each)
    side.add(machine.starts(runs, plan.starts))
    return side


def _planned(arm: Arm, way: str, *, first: bool) -> Side | None:
    """Measure what the plan has of an arm, and return the runs of the control before and after the others."""
    if way == "stored":
        places = [0, 2] if arm.arm == 0 else [1]
        for place in places:
            arm.measure("now", at=place)
        return arm.now if arm.arm == 0 else None
    if not first:
        arm.measure("before", at=3 + arm.arm)
        return None
    # A control arm is measured before and after. Where nothing is stored both are: one run a side passes nothing.
    both = arm.arm == 0 or not arm.history
    arm.measure("before", at=arm.arm)
    arm.measure("now", at=2 + arm.arm)
    if both:
        arm.measure("before", at=4 + arm.arm)
    return arm.before if arm.arm == 0 else None


def _sequence(arm: Arm, way: str, *, last: bool) -> None:
    """Look, and measure further rounds of those sessions that are open, until none is or the budget is spent."""
    rounds = _rounds(arm, way)
    for look, further in enumerate(rounds, start=1):
        if not len(arm.open):
            return
        spread = arm.spread()
        found, confirmed, hopeless = (by_stored if way == "stored" else by_twin)(arm, spread, look)
        called = found.regressed & confirmed & arm.mine
        settled = called | (found.passed & ~found.regressed) | found.improved
        lost, unsettled = called.any(axis=1), ~settled[:, arm.mine].all(axis=1)
        split = in_two_modes(arm)
        room = arm.before.runs + arm.now.runs + len(further) <= arm.plan.most
        going = unsettled & ~lost & ~split & ~hopeless & room
        left_to_the_next = unsettled & ~lost & ~split & ~going
        arm.called[arm.open] |= lost & ~split
        arm.invalid[arm.open] |= split
        if last:
            arm.undecided[arm.open[left_to_the_next]] = True
        if not going.any():
            # What this way could not settle is open for the next one.
            arm.keep(left_to_the_next)
            return
        waiting = arm.open[left_to_the_next]
        if last or not len(waiting):
            arm.keep(going)
        else:
            # Sessions of one array have the same runs: those that wait for the next way keep measuring beside the others.
            arm.keep(going | left_to_the_next)
            arm.launches[waiting] -= len(further)
        for side in further:
            arm.measure(side, at=2.0 * (arm.clock + 1))


def _rounds(arm: Arm, way: str) -> Iterator[list[str]]:
    """Yield what is measured between two looks. A twin with two controls and restarts stored lacks one run to confirm a loss."""
    if way == "stored":
        yield from (["now"] for _ in range(arm.plan.most))
    if arm.before.runs > arm.now.runs:
        yield ["now"]
    while True:
        yield ["before", "now"]
