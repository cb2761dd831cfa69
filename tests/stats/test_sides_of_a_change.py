"""Head against base of a change: what confirms a loss, and what would settle what is open."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tokgate.records import Outcome
from tokgate.stats.confirm import AGREE, against_side, all_of_one_mode
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule, Wants
from tokgate.stats.levels import RunValues

RULE = Rule(higher_is_better=True, relative=0.02, absolute=0.5, level=0.001)


def runs(levels: Sequence[float], session: str = "this session") -> tuple[RunValues, ...]:
    """Server runs of six starts each, a thousandth apart."""
    return tuple(
        RunValues(
            session=session, launch=f"{session} {n}", values=tuple(v * (1 + k / 1000) for k in range(-3, 3))
        )
        for n, v in enumerate(levels)
    )


def decided(head: Sequence[float], base: Sequence[float], rule: Rule = RULE, stored: int = 0) -> Decision:
    history = [run for n in range(stored) for run in runs((100.0, 100.1), f"stored {n}")]
    return decide(runs(head), runs(base), rule, kind="side", history=history)


@pytest.mark.parametrize("beyond", [(0, 4), (4, 0), (1, 1), (1, 3)])
def test_a_loss_wants_two_runs_of_each_side_that_show_it(beyond: tuple[int, int]) -> None:
    found = against_side(beyond, (), timed=True)
    assert not found.confirmed
    assert (found.lacking.now, found.lacking.before) == tuple(max(0, AGREE - n) for n in beyond)


@pytest.mark.parametrize("agreed", [(), (3,)])
@pytest.mark.parametrize("beyond", [(0, 4), (1, 1), (1, 3)])
def test_all_that_it_may_lack_is_known_before_the_first_restart(
    beyond: tuple[int, int], agreed: tuple[int, ...]
) -> None:
    """Somebody who is told of one more restart, makes it and is then told of two more was told nothing."""
    more = against_side(beyond, agreed, timed=True).in_all
    assert more is not None
    assert against_side((beyond[0] + more.now, beyond[1] + more.before), agreed, timed=True).confirmed
    for now, before in ((more.now - 1, more.before), (more.now, more.before - 1)):
        if min(now, before) >= 0:
            assert not against_side((beyond[0] + now, beyond[1] + before), agreed, timed=True).confirmed


def test_what_may_be_needed_is_told_beside_what_is_needed_next() -> None:
    once = decided((90.0,), (100.0,))
    assert (once.wants, once.most) == (Wants(now=1, before=1), Wants(now=3, before=3))
    twice = decided((90.0, 90.1), (100.0, 100.1))
    assert twice.wants == twice.most == Wants(now=2, before=2)


def test_two_modes_are_excluded_as_for_a_twin_however_large_the_loss() -> None:
    assert against_side((4, 4), (), timed=True).confirmed
    found = against_side((3, 3), (), timed=True)
    assert not found.confirmed
    assert found.modes == pytest.approx(1 / 64)
    assert decided((50.0, 50.1, 50.0), (100.0, 100.1, 100.0)).outcome is Outcome.INCONCLUSIVE


def test_a_count_that_restarts_do_not_move_wants_no_more_than_two_of_each() -> None:
    assert against_side((2, 2), (), timed=False).confirmed


def test_other_runs_that_agree_speak_against_two_modes_unless_one_of_them_speaks_for_them() -> None:
    # Two other arms of four runs each, or sessions that are stored.
    assert against_side((3, 3), (4, 4), timed=True).confirmed
    assert against_side((2, 2), (2,) * 6, timed=True).confirmed
    agree, split = np.array([4.60, 4.601]), np.array([4.60, 4.65])
    assert all_of_one_mode([agree] * 6, 0.05) == (2,) * 6
    assert all_of_one_mode([*[agree] * 6, split], 0.05) == ()


def test_what_both_sides_differ_by_is_known_of_both_together_and_of_what_is_stored() -> None:
    few, many = decided((97.0, 97.1), (100.0, 100.1)), decided((97.0, 97.1), (100.0, 100.1), stored=6)
    assert few.outcome is Outcome.INCONCLUSIVE
    assert many.outcome is Outcome.REGRESSED
    assert many.interval[1] - many.interval[0] < few.interval[1] - few.interval[0]


def test_runs_that_would_settle_it_are_wanted_of_both_sides_alike() -> None:
    wants = decided((98.0,), (100.0,)).wants
    assert wants.now == wants.before > 0


def test_a_gain_and_no_change_are_told_as_against_a_twin() -> None:
    assert decided((103.0, 103.1, 103.0), (100.0, 100.1, 100.0), stored=3).outcome is Outcome.IMPROVED
    assert decided((100.0, 100.1, 100.0), (100.0, 100.1, 100.0), stored=3).outcome is Outcome.PASS


def test_a_head_far_better_than_its_base_passes_when_second_runs_show_it() -> None:
    """The base's only run may have met a busy machine."""
    once = decided((223.0,), (100.0,))
    assert once.outcome is Outcome.INCONCLUSIVE
    assert (once.wants.now, once.wants.before) == (1, 1)
    # A second run shows what it was: the base is as fast as the head.
    assert decided((223.0, 223.1), (100.0, 225.0)).outcome is Outcome.INCONCLUSIVE
    assert decided((223.0, 223.1, 223.0, 222.9), (100.0, 100.1, 99.9, 100.0)).outcome is Outcome.IMPROVED


def test_a_head_as_good_as_its_base_passes_at_the_first_look() -> None:
    assert decided((101.0,), (100.0,)).outcome is Outcome.PASS
