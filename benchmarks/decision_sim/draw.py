"""Simulated sessions: starts within server runs within sessions, thousands at once.

Metrics of one start, of one server run and of one session share most of their luck, as real ones do: a slow run is slow
in all of its numbers. What is drawn is the logarithm of a duration, so that above 0 is worse; numbers of the kind "more
is better" are its reciprocal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .questions import ARM, ARMS, HIGHER, LOSES, NOISE, WORKLOAD, WORKLOADS
from .worlds import World

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

QUESTIONS = len(ARM)
# How much of a variance two numbers share, by level: (with all, with the same arm, with the same arm and workload).
_SHARED = {"session": (0.8, 0.1, 0.05), "restart": (0.0, 0.5, 0.3), "start": (0.0, 0.0, 0.7)}
_PLANNED = 6  # launches over which a world's drift is stated


class Result(NamedTuple):
    """What a rule concluded of each session; arrays of one length."""

    called: Bools  # at least one loss
    invalid: Bools  # refused to judge, at least partly, and called nothing
    undecided: Bools
    launches: Floats
    starts: Floats  # barrier starts, warm-ups included


def rising(rng: np.random.Generator, level: str, sd: float, shape: tuple[int, ...]) -> Floats:
    """Return deviates of all questions, (sessions, questions, *rest), correlated as `level` says; `shape` without questions."""
    sessions, *rest = shape
    all_, arm, cell = _SHARED[level]
    own = 1 - all_ - arm - cell
    found = np.sqrt(own) * rng.standard_normal((sessions, QUESTIONS, *rest))
    if all_:
        found += np.sqrt(all_) * rng.standard_normal((sessions, 1, *rest))
    if arm:
        found += np.sqrt(arm) * rng.standard_normal((sessions, ARMS, *rest))[:, ARM]
    if cell:
        of_cells = rng.standard_normal((sessions, ARMS * WORKLOADS, *rest))
        found += np.sqrt(cell) * of_cells[:, ARM * WORKLOADS + WORKLOAD]
    return np.asarray(found * sd * NOISE.reshape(1, -1, *(1 for _ in rest)))


class Machine:
    """Draws from one world, for `sessions` sessions at once, from one seed."""

    def __init__(self, world: World, sessions: int, seed: object) -> None:
        self.world = world
        self.sessions = sessions
        self.rng = np.random.default_rng(np.random.SeedSequence(list(str(seed).encode())))

    def session(self) -> Floats:
        """Return what a new session adds to every number: (sessions, questions)."""
        return rising(self.rng, "session", self.world.session, (self.sessions,))

    def runs(self, of: Floats, *, loss: float, at: float, number: int = 1) -> Floats:
        """Return what server runs of sessions `of` (k, questions) would measure with endless starts: (k, questions, number).

        `loss`: what the configuration has lost, as a part of its throughput. `at`: when they run, in launches since the
        session began.
        """
        world, k = self.world, len(of)
        found = of[..., None] + rising(self.rng, "restart", world.restart, (k, number))
        if world.apart:
            slow = self.rng.random((k, ARMS, number)) < world.share
            found += np.log1p(world.apart) * slow[:, ARM]
        found += world.drift * at / _PLANNED
        return found + np.where(LOSES, -np.log1p(-loss), 0.0)[None, :, None]

    def starts(self, runs: Floats, number: int) -> Floats:
        """Return the starts of runs: (..., number)."""
        k, _, many = runs.shape
        return runs[..., None] + rising(self.rng, "start", self.world.start, (k, many, number))

    def means(self, runs: Floats, number: int) -> Floats:
        """Return the means of `number` starts of each run; no start is drawn."""
        k, _, many = runs.shape
        return runs + rising(self.rng, "start", self.world.start / np.sqrt(number), (k, many))


def measured(log_duration: Floats) -> Floats:
    """Turn log durations, (sessions, questions, ...), into logarithms of what each metric says."""
    sign = np.where(HIGHER, -1.0, 1.0).reshape(1, -1, *(1 for _ in log_duration.shape[2:]))
    return log_duration * sign
