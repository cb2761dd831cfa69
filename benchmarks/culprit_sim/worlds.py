"""Changes of several units on the machines of benchmarks/decision_sim: what one server run of a prefix measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.decision_sim.worlds import RESTART_S, START_S, WARMUPS, World
from tokgate.stats.levels import RunValues

STARTS = 6
RUN_S = RESTART_S + (STARTS + WARMUPS) * START_S
_PLANNED = 6  # launches over which a world's drift is stated


class Change(NamedTuple):
    words: str
    costs: tuple[float, ...]  # of each unit, relative; below 0 it gains

    @property
    def culprits(self) -> frozenset[int]:
        """Units that cost what a search must not miss: 3 % and more."""
        return frozenset(unit for unit, cost in enumerate(self.costs, start=1) if cost >= 0.03)

    @property
    def innocent(self) -> frozenset[int]:
        return frozenset(unit for unit, cost in enumerate(self.costs, start=1) if cost <= 0)


def changes(units: int) -> tuple[Change, ...]:
    """Return what is tried on a series of so many units; who costs lies neither first nor last."""

    def of(words: str, costs: dict[int, float]) -> Change:
        return Change(words, tuple(costs.get(unit, 0.0) for unit in range(1, units + 1)))

    one, two = units // 2, units - 1
    return (
        of("nothing costs", {}),
        of("one costs 3 %", {one: 0.03}),
        of("one costs 5 %", {one: 0.05}),
        of("one costs 7.5 %", {one: 0.075}),
        of("two cost 4 % each", {one: 0.04, two: 0.04}),
        of("one gains 5 %, one costs 7.5 %", {one: -0.05, two: 0.075}),
        Change("each costs 1.2 %", (0.012,) * units),
    )


class Box:
    """One session on one machine: server runs of prefixes, in order of time."""

    def __init__(self, world: World, costs: Sequence[float], rng: np.random.Generator) -> None:
        self._world, self._rng = world, rng
        self._speed: npt.NDArray[np.float64] = np.concatenate([[0.0], np.cumsum(np.log1p(-np.array(costs)))])
        self.runs = 0

    def measure(self, prefix: int) -> RunValues:
        world, rng = self._world, self._rng
        level = self._speed[prefix] + rng.normal(0, world.restart) - world.drift * self.runs / _PLANNED
        if world.apart and rng.random() < world.share:
            level -= np.log1p(world.apart)
        self.runs += 1
        starts = np.exp(level + rng.normal(0, world.start, size=STARTS))
        return RunValues(session="", launch=str(self.runs), values=tuple(map(float, 100 * starts)))
