from __future__ import annotations

import math

import pytest

from tokgate.stats.crossover import Crossover, crossover

TWIN = (98.0, 99.0, 100.0, 101.0, 102.0)


def times(factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in TWIN)


def gains(**factors: float) -> Crossover:
    levels = {int(name[1:]): factor for name, factor in factors.items()}
    return crossover({c: times(f) for c, f in levels.items()}, dict.fromkeys(levels, TWIN))


def test_where_it_stops_winning_lies_between_two_measured_levels() -> None:
    found = gains(c1=1.5, c4=1.3, c16=1.0, c64=0.8)
    assert (found.wins_up_to, found.stops_at) == (4, 64)
    assert found.words == "wins up to 4, not decided at 16, loses 20% at 64 (1, 4, 16, 64 measured)"
    assert [level.wins for level in found.levels] == [True, True, None, False]
    assert found.levels[0].ratio == pytest.approx(1.5)


def test_a_loss_that_was_not_measured_is_not_guessed() -> None:
    found = gains(c1=1.5, c4=1.3, c16=1.1)
    assert (found.wins_up_to, found.stops_at) == (16, None)
    assert found.words == "wins up to 16; a level at which it loses was not measured (1, 4, 16)"
    undecided = gains(c1=1.5, c4=1.0)
    assert (
        undecided.words == "wins up to 1, not decided at 4; a level at which it loses was not measured (1, 4)"
    )


def test_it_may_lose_at_once() -> None:
    found = gains(c1=0.41, c4=0.5)
    assert (found.wins_up_to, found.stops_at) == (None, 1)
    assert found.words.startswith("loses 59% at 1, the first level decided")


def test_a_win_beyond_a_loss_is_odd() -> None:
    found = gains(c1=1.5, c4=0.8, c16=1.3)
    assert (found.wins_up_to, found.stops_at) == (1, 4)
    assert "yet wins again at 16" in found.words


def test_nothing_decided() -> None:
    assert (
        gains(c1=1.0, c2=1.0).words == "neither a gain nor a loss is established at any level measured (1, 2)"
    )
    assert crossover({}, {}).words == "no level was measured with and without speculation"


def test_too_few_values_decide_nothing() -> None:
    found = crossover({1: (150.0, 151.0)}, {1: (100.0, 101.0)})
    assert (found.levels[0].wins, found.wins_up_to, found.stops_at) == (None, None, None)


def test_a_level_without_its_twin_is_unknown_and_never_compared_with_another() -> None:
    found = crossover({1: times(1.5), 4: times(0.5)}, {1: TWIN, 8: TWIN})
    assert [level.concurrency for level in found.levels] == [1]
    assert found.unknown == {
        4: "its twin was not measured at this level",
        8: "the arm was not measured at this level",
    }


@pytest.mark.parametrize("odd", [math.nan, math.inf, 0.0, -1.0])
def test_odd_numbers_are_refused_in_words(odd: float) -> None:
    found = crossover({1: (*TWIN, odd)}, {1: TWIN})
    assert (found.levels, found.unknown) == ((), {1: "the arm has a value that is no throughput"})


def test_trading_places_turns_wins_into_losses() -> None:
    arm, twin = {1: times(1.5), 8: times(0.7)}, {1: TWIN, 8: TWIN}
    there, back = crossover(arm, twin), crossover(twin, arm)
    assert [v.wins for v in there.levels] == [True, False]
    assert [v.wins for v in back.levels] == [False, True]
    for one, other in zip(there.levels, back.levels, strict=True):
        assert one.ratio == pytest.approx(1 / other.ratio)
