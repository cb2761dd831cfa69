"""The gate's own rule on simulated sessions, by the product's own code: tokgate/stats/{levels,bounds,modes}.py.

Two ways to ask whether an arm has lost. Stored: the session's runs against a baseline of six sessions with two runs
each. Twin: both sides in one session, in turn, the control arm first and last; the same baseline, where there is one, says
how much restarts differ. Both look after the planned launches and after every further round, and stop arm by arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from tokgate.stats.bounds import MODES, Bounds, bounds, by_modes, of_stored, of_twins, spent
from tokgate.stats.decision import Rule
from tokgate.stats.levels import DOUBT, PRIOR_SHARE, Floats, Spread, of_a_median, of_runs, of_sessions, sums
from tokgate.stats.modes import two_modes
from tokgate.verdicts.drifting import LEVEL as DRIFT_LEVEL
from tokgate.verdicts.drifting import UNKNOWN_SD
from tokgate.verdicts.family import OF_KIND

from .draw import Bools, Ints, Machine, Result, measured
from .questions import ARM, ARMS, FLOOR, HIGHER, LEVEL, THROUGHPUT, WORKLOADS
from .worlds import WARMUPS

STARTS = 3  # a workload and launch, as many as the nearest rival's repeats
MISS = Rule.model_fields["miss"].default
PRIOR_SD = PRIOR_SHARE * FLOOR


class Plan(NamedTuple):
    """What a session measures. `ways`: in this order, the next where the one before has not settled an arm."""

    ways: tuple[str, ...]
    sessions: int = 6  # in the stored baseline
    runs_each: int = 2
    most: int = 8  # server runs of an arm, of both sides together
    starts: int = STARTS


class Side:
    """Server runs of one configuration in one session, growing: medians of their starts, and how far starts differ."""

    def __init__(self, values: Floats, squares: Floats, df: int) -> None:
        self.values, self.squares, self.df = values, squares, df

    @classmethod
    def none(cls, sessions: int) -> Side:
        return cls(np.empty((sessions, len(ARM), 0)), np.zeros((sessions, len(ARM))), 0)

    def add(self, starts: Floats) -> None:
        """Add runs: (sessions, questions, runs, starts)."""
        on_scale = measured(starts)
        seen = sums([on_scale])
        self.values = np.concatenate([self.values, np.median(on_scale, axis=-1)], axis=-1)
        self.squares = self.squares + seen.squares.sum(axis=-1)
        self.df += on_scale.shape[2] * (on_scale.shape[3] - 1)

    def of(self, keep: Bools) -> Side:
        return Side(self.values[keep], self.squares[keep], self.df)

    @property
    def runs(self) -> int:
        return int(self.values.shape[-1])


class Arm:
    """One arm of all sessions: those still open, their runs, and what was concluded of each."""

    def __init__(
        self, machine: Machine, arm: int, plan: Plan, session: Floats, history: Sequence[Side], *, loss: float
    ) -> None:
        n = machine.sessions
        self.machine, self.arm, self.plan, self.loss, self.session = machine, arm, plan, loss, session
        self.mine = arm == ARM
        self.open = np.arange(n)
        self.before, self.now = Side.none(n), Side.none(n)
        self.history = list(history)
        self.called, self.undecided, self.invalid = (np.zeros(n, dtype=bool) for _ in range(3))
        self.launches = np.zeros(n)
        self.reach = _reach(self.history, n)
        self.moved = np.zeros(n)  # what the controls of the session lie apart
        self.clock = 0
        self.first = np.empty((n, len(ARM)))  # what the first run of the session measured

    def measure(self, side: str, *, at: float) -> None:
        to, loss = (self.before, 0.0) if side == "before" else (self.now, self.loss)
        runs = self.machine.runs(self.session[self.open], loss=loss, at=at)
        to.add(self.machine.starts(runs, self.plan.starts))
        self.launches[self.open] += 1
        self.clock += 1
        if self.clock == 1:
            self.first[:] = to.values[..., 0]

    def keep(self, going: Bools) -> None:
        self.open = self.open[going]
        self.before, self.now = self.before.of(going), self.now.of(going)
        self.history = [side.of(going) for side in self.history]

    def spread(self) -> Spread:
        """What one run's value varies by: of all runs of the configuration, each session about its own mean."""
        sides = [side for side in (*self.history, self.before, self.now) if side.runs]
        squares, df = sum(side.squares for side in sides), sum(side.df for side in sides)
        by_starts = of_a_median(np.asarray(squares / df), self.plan.starts)
        return of_runs([side.values for side in sides], by_starts, PRIOR_SD)


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
                drifted = _drifted(control, arm)
                of = arm.mine & THROUGHPUT
                moved = np.abs(control.values[:, of, 1] - control.values[:, of, 0]).max(axis=1)
                for one in arms:
                    one.moved = moved
            _sequence(arm, way, last=number == len(plan.ways) - 1)
    if len(plan.ways) > 1:
        drifted |= _drifted_since(arms, planned=(2, 1))
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
        found, confirmed, hopeless = (_stored if way == "stored" else _twin)(arm, spread, look)
        called = found.regressed & confirmed & arm.mine
        settled = called | (found.passed & ~found.regressed) | found.improved
        lost, unsettled = called.any(axis=1), ~settled[:, arm.mine].all(axis=1)
        split = _in_two_modes(arm)
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


def _twin(arm: Arm, spread: Spread, look: int) -> tuple[Bounds, Bools, Bools]:
    a, b = arm.before.values, arm.now.values
    total = of_twins(spread, spread, runs_before=arm.before.runs, runs_now=arm.now.runs)
    difference = b.mean(axis=-1) - a.mean(axis=-1)
    found = _bounds(difference, total, kind="twin", look=look)
    # Stored sessions whose runs lie closer together than the loss speak against two modes.
    sizes = [
        np.where(np.ptp(side.values, axis=-1) < np.abs(difference) / 2, side.runs, 1) for side in arm.history
    ]
    confirmed = _confirmed(arm.before.runs, arm.now.runs, sizes, difference.shape)
    return found, confirmed, np.zeros(len(a), dtype=bool)


def _confirmed(before: int, now: int, sizes: Sequence[Ints], shape: tuple[int, ...]) -> Bools:
    if not sizes:
        return np.full(shape, by_modes(before, now) <= MODES)
    agreed = np.sum([size > 1 for size in sizes], axis=0)  # sessions whose runs agree, of equal size
    runs = int(max(size.max() for size in sizes))
    chances = np.array([by_modes(before, now, (runs,) * many) for many in range(len(sizes) + 1)])
    return np.asarray(chances[agreed] <= MODES)


def _stored(arm: Arm, spread: Spread, look: int) -> tuple[Bounds, Bools, Bools]:
    known = of_sessions([side.values for side in arm.history], spread, PRIOR_SD)
    difference = arm.now.values.mean(axis=-1) - known.mean
    total = of_stored(known, spread, runs_now=arm.now.runs)
    found = _bounds(difference, total, kind="stored", look=look)
    most = of_stored(known, spread, runs_now=arm.plan.most)
    then = _bounds(difference, most, kind="stored", look=look + 1)
    open_ = ~(found.regressed | found.passed | found.improved)
    hopeless = (open_ & ~(then.regressed | then.passed | then.improved))[:, arm.mine].any(axis=1)
    hopeless = np.asarray(hopeless & ~found.regressed[:, arm.mine].any(axis=1))
    stored_runs = sum(side.runs for side in arm.history)
    confirmed = np.full(difference.shape, by_modes(stored_runs, arm.now.runs) <= MODES)
    # What the machine itself moved by in the session is nobody's loss.
    beyond = found.low > np.expm1(arm.moved[arm.open])[:, None]
    return found._replace(regressed=found.regressed & beyond), confirmed, hopeless


def _bounds(difference: Floats, spread: Spread, *, kind: str, look: int) -> Bounds:
    """Judge every question: those of which more is better, and the others."""
    parts = []
    for higher in (True, False):
        of = higher == HIGHER
        df = spread.df[:1, of] if np.ptp(spread.df) == 0 else spread.df[:, of]
        parts.append(
            bounds(
                difference[:, of],
                Spread(spread.variance[:, of], df),
                reference=1.0,
                floor=FLOOR[of],
                alpha=spent(OF_KIND[kind] * LEVEL[of], look),
                beta=spent(MISS, look),
                higher_is_better=higher,
                doubt=DOUBT if kind == "stored" else 0.0,
            )
        )
    return Bounds(*(_joined(*pair) for pair in zip(*parts, strict=True)))


def _joined(higher: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Put numbers of both kinds of questions into their places."""
    whole = np.empty((len(higher), len(HIGHER)), dtype=higher.dtype)
    whole[:, HIGHER], whole[:, ~HIGHER] = higher, lower
    return whole


def _drifted(control: Side, arm: Arm) -> Bools:
    """Whether the control's runs before and after differ by more than the floor and than restarts do, in throughput."""
    of = arm.mine & THROUGHPUT
    moved = np.abs(control.values[:, of, 1] - control.values[:, of, 0])
    return np.asarray((moved > np.maximum(np.log1p(FLOOR[of]), arm.reach[:, of])).any(axis=1))


def _reach(history: Sequence[Side], sessions: int) -> Floats:
    """Return what two restarts differ by at most: (sessions, questions)."""
    if not history:
        reach = special.ndtri(1 - DRIFT_LEVEL / 2) * np.sqrt(2) * UNKNOWN_SD
        return np.full((sessions, len(ARM)), reach)
    known = of_runs([side.values for side in history], 0.0, PRIOR_SD)
    return np.asarray(special.stdtrit(known.df, 1 - DRIFT_LEVEL / 2) * np.sqrt(2 * known.variance))


def _drifted_since(arms: Sequence[Arm], *, planned: tuple[int, int]) -> Bools:
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
    return np.asarray(further & (moved > np.maximum(np.log1p(FLOOR[of]), control.reach[:, of])).any(axis=1))


def _in_two_modes(arm: Arm) -> Bools:
    """Whether runs of one side, with the stored ones, fall into two modes, in throughput."""
    of = np.flatnonzero(arm.mine & THROUGHPUT)
    found = np.zeros(len(arm.open), dtype=bool)
    for side in (arm.before, arm.now):
        groups = [*(stored.values[:, of] for stored in arm.history), side.values[:, of]]
        numbers = np.repeat(np.arange(len(groups)), [group.shape[-1] for group in groups])
        values = np.concatenate(groups, axis=-1)
        for i, question in enumerate(of):
            seen = two_modes(
                values[:, i], numbers, prior_sd=float(PRIOR_SD[question]), floor=float(FLOOR[question])
            )
            found |= seen.found
    return found
