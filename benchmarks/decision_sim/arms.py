"""The sides and arms of simulated sessions: what was measured of each, and what is still open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from tokgate.stats.levels import PRIOR_SHARE, Floats, Spread, of_a_median, of_runs, sums
from tokgate.verdicts.drifting import LEVEL as DRIFT_LEVEL
from tokgate.verdicts.drifting import UNKNOWN_SD

from .draw import Bools, Machine, measured
from .questions import ARM, FLOOR

STARTS = 3  # a workload and launch, as many as the nearest rival's repeats
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
        self.reach = reach_of(self.history, n)
        self.reach_of_two = reach_of(self.history, n, later=2)
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


def reach_of(history: Sequence[Side], sessions: int, *, later: int = 1) -> Floats:
    """Return what two restarts differ by at most, where `later` are held against the first: (sessions, questions)."""
    level = DRIFT_LEVEL / later
    if not history:
        reach = special.ndtri(1 - level / 2) * np.sqrt(2) * UNKNOWN_SD
        return np.full((sessions, len(ARM)), reach)
    known = of_runs([side.values for side in history], 0.0, PRIOR_SD)
    return np.asarray(special.stdtrit(known.df, 1 - level / 2) * np.sqrt(2 * known.variance))
