"""The simulation of searches: each way finds who costs on a machine without noise, and is wrong as it is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.culprit_search import WAYS, row_of
from benchmarks.culprit_sim.searches import git_bisect, ours
from benchmarks.culprit_sim.worlds import Box, Change, changes
from benchmarks.decision_sim.worlds import World

STILL = World("still", "nothing differs by much", 0.0002, 0.0002, 0.0002)


def box(*costs: float) -> Box:
    return Box(STILL, costs, np.random.default_rng(0))


@pytest.mark.parametrize("way", WAYS)
def test_each_way_finds_the_one_that_costs(way: str) -> None:
    assert WAYS[way](box(0, 0, 0.06, 0), 4).units == {3}
    assert WAYS[way](box(0, 0, 0, 0), 4).units == frozenset()


def test_of_two_git_bisect_finds_one() -> None:
    assert ours(box(0.05, 0, 0, 0.05), 4).units == {1, 4}
    assert len(git_bisect(box(0.05, 0, 0, 0.05), 4).units) == 1


def test_a_row_counts_who_is_named_wrongly() -> None:
    row = row_of(STILL, 4, Change("one", (0.0, 0.05, 0.0, 0.0)), "ours", sessions=2, seed=0)
    assert (row.wrong, row.exact, row.undecided) == (0, 2, 0)
    noisy = STILL._replace(restart=0.05)
    wrong = row_of(noisy, 4, Change("none", (0.0,) * 4), "every prefix twice, -2 %", sessions=20, seed=0)
    assert wrong.wrong > 10


def test_small_costs_have_no_culprit() -> None:
    each = changes(6)[-1]
    assert each.culprits == frozenset()
    assert ours(box(*each.costs), 6).groups
