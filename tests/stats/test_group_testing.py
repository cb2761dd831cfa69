from __future__ import annotations

import math

import numpy as np
import pytest

from tokgate.stats.decision import Rule
from tokgate.stats.group_testing import Measured, Run, look_of, middle, search, shared
from tokgate.stats.levels import RunValues
from tokgate.stats.next_prefixes import Done, Round, next_round, opening

RULE = Rule(higher_is_better=True, relative=0.02, absolute=0.0, level=0.01)
OFF = (0.0008, -0.0007, 0.0003, -0.0004, 0.0006, -0.0006)
STARTS = (0.0004, -0.0004, 0.0001)


def runs(speed: float, number: int, *, first: int = 1, off: tuple[float, ...] = OFF) -> list[Run]:
    return [
        Run(
            first,
            RunValues(
                session="",
                launch=f"{speed}-{n}",
                values=tuple(speed * (1 + off[n]) * (1 + s) for s in STARTS),
            ),
        )
        for n in range(number)
    ]


def measured(**speeds: float) -> Measured:
    return {int(name.removeprefix("p")): runs(speed, 3) for name, speed in speeds.items()}


def test_error_rates_are_shared_by_all_that_may_be_compared() -> None:
    six = shared(RULE, 6)
    assert six.level * (2 * 6 - 1) == pytest.approx(RULE.level)
    assert six.miss * 4 == pytest.approx(RULE.miss), "the whole, a half, a part of it, and the unit itself"
    assert shared(RULE, 1).level == RULE.level


def test_a_look_is_counted_for_the_pair_that_it_told_something_of() -> None:
    found = {0: [*runs(90, 2), *runs(90, 1, first=3)], 2: runs(90, 1, first=2), 4: runs(90, 2)}
    assert look_of(found, 0, 2) == 2
    assert look_of(found, 2, 4) == 1, "the later run of the base says nothing of this pair"
    assert look_of(found, 0, 4) == 2


def test_a_segment_is_split_as_near_to_its_middle_as_can_be_measured() -> None:
    assert middle(0, 6) == 3
    assert middle(0, 6, frozenset({3})) == 2
    assert middle(2, 4, frozenset({3})) is None
    assert middle(4, 5) is None


def test_costs_of_the_parts_make_up_the_whole() -> None:
    found = search(measured(p0=94, p2=91, p3=91, p4=86), RULE, 4)
    parts = math.prod(1 + part.decision.change for part in found.parts)
    assert parts == pytest.approx(1 + found.nodes[0].decision.change)
    assert [(p.first, p.last) for p in found.parts] == [(0, 2), (2, 3), (3, 4)]


def test_what_restarts_differ_by_is_known_from_all_prefixes() -> None:
    few = search({0: runs(94, 2), 4: runs(91, 2)}, RULE, 4)
    more = search({0: runs(94, 2), 2: runs(94, 6), 4: runs(91, 2)}, RULE, 4)
    assert more.nodes[0].decision.between_runs < few.nodes[0].decision.between_runs


def test_a_step_is_confirmed_by_all_runs_on_its_level() -> None:
    """Two runs on either side of a step may be two modes of one server; seven and four can hardly be."""
    alone = search({0: runs(94, 2), 1: runs(88, 2)}, RULE, 1)
    assert alone.parts[0].state == "loss"
    assert not alone.parts[0].called
    among = search({0: runs(94, 3), 2: runs(94, 2), 3: runs(94, 2), 4: runs(88, 4)}, RULE, 4)
    (step,) = [part for part in among.parts if part.state == "loss"]
    assert step.called
    assert step.modes is not None
    assert step.modes < 0.005


def test_a_loss_that_no_mode_explains_is_called_with_two_runs_a_side() -> None:
    found = search({0: runs(94, 2), 1: runs(70, 2)}, RULE, 1)
    assert found.parts[0].called
    assert found.parts[0].modes is None


def test_small_costs_are_told_as_costing_together() -> None:
    found = search(measured(p0=94, p1=92.9, p2=91.8), RULE, 2)
    assert [p.state for p in found.parts] == ["clear", "clear"]
    assert [(s.first, s.last) for s in found.spread] == [(0, 2)]


def test_base_and_head_are_needed() -> None:
    with pytest.raises(ValueError, match="base and head"):
        search({0: runs(94, 2)}, RULE, 4)


def step(
    found: Measured, changes: int, *, affordable: int = 20, most: int = 7, since_base: int = 0
) -> Round | Done:
    return next_round(
        search(found, RULE, changes), found, affordable=affordable, most=most, since_base=since_base
    )


def test_a_search_begins_so_that_a_drift_meets_both_sides_alike() -> None:
    assert opening(5).prefixes == (0, 5, 5, 0)


def test_what_costs_is_looked_for_in_the_middle() -> None:
    found = step({0: runs(94, 2), 6: runs(88, 2)}, 6)
    assert isinstance(found, Round)
    assert found.prefixes == (3,)
    assert "a cost of 6.4%" in found.reason


def test_the_base_comes_again_every_few_runs_and_at_the_end() -> None:
    going = step({0: runs(94, 2), 6: runs(88, 2)}, 6, since_base=3)
    assert isinstance(going, Round)
    assert going.prefixes == (3, 0)
    clear = {0: runs(94, 3), 6: runs(94, 3)}
    closing = step(clear, 6, since_base=1)
    assert isinstance(closing, Round)
    assert closing.prefixes == (0,)
    assert isinstance(step(clear, 6), Done)


def test_what_the_budget_does_not_take_is_left_open_with_the_reason() -> None:
    found = step({0: runs(94, 2), 6: runs(88, 2)}, 6, affordable=0)
    assert isinstance(found, Done)
    assert found.open == ((0, 6),)
    assert "sampling.gpu_time_s" in found.reason


def test_no_prefix_is_started_more_often_than_the_rig_allows() -> None:
    noisy = (0.012, -0.011, 0.006, -0.008, 0.010, -0.009)
    found = {0: runs(94, 3, off=noisy), 1: runs(92.5, 3, off=noisy)}
    told = step(found, 1, most=3)
    assert isinstance(told, Done)
    assert told.open == ((0, 1),)


@pytest.mark.parametrize("seed", range(3))
def test_no_unit_is_named_where_none_costs(seed: int) -> None:
    """Twenty searches on a machine as noisy as a quiet CPU: the whole of them may be wrong in one of a hundred."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        found: dict[int, list[Run]] = {}
        going: Round | Done = opening(4)
        for number in range(1, 12):
            if isinstance(going, Done):
                break
            for prefix in going.prefixes:
                found.setdefault(prefix, []).extend(
                    runs(94 * math.exp(rng.normal(0, 0.01)), 1, first=number, off=(0.0,))
                )
            going = next_round(search(found, RULE, 4), found, affordable=20, most=7, since_base=0)
        assert not any(part.called for part in search(found, RULE, 4).parts)
