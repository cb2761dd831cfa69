from __future__ import annotations

import random

import pytest

from tokgate.stats.steady import steadiness_of


def test_a_steady_series_has_neither_trend_nor_warm_up() -> None:
    found = steadiness_of([44.6, 44.5, 44.7, 44.6, 44.4, 44.8])

    assert not found.trending(0.03)
    assert not found.still_warming(0.03)
    assert found.robust_cv == pytest.approx(1.4826 * 0.1 / 44.6, rel=0.01)


def test_a_machine_that_heats_up_shows_a_trend() -> None:
    found = steadiness_of([100.0, 98.0, 96.0, 94.0, 92.0, 90.0])

    assert found.trend == pytest.approx(-10 / 95)
    assert found.trending(0.03)
    assert not found.trending(0.2)


def test_noise_of_the_same_size_is_no_trend() -> None:
    assert not steadiness_of([100.0, 90.0, 98.0, 92.0, 96.0, 94.0]).trending(0.03)


def test_a_slow_first_value_is_a_warm_up_that_is_not_over() -> None:
    found = steadiness_of([30.0, 44.5, 44.7, 44.6, 44.4, 44.8])

    assert found.still_warming(0.03)
    assert found.first == pytest.approx(30 / 44.6 - 1)
    assert not steadiness_of([44.5, 30.0, 44.7, 44.6, 44.4, 44.8]).still_warming(0.03)


def test_spread_is_not_moved_by_one_outlier() -> None:
    assert steadiness_of([10.0, 10.1, 10.2, 10.3, 50.0]).robust_cv < 0.02


def test_four_values_cannot_show_a_trend_and_say_so() -> None:
    found = steadiness_of([1.0, 2.0, 3.0, 4.0])

    assert found.trend is None
    assert not found.trending(0.0)
    assert found.warnings == ("n=4 is too few to tell a trend from chance: it needs 1 more",)


def test_a_constant_is_steady() -> None:
    found = steadiness_of([5.0] * 6)

    assert (found.trend, found.robust_cv, found.first) == (0.0, 0.0, 0.0)


def test_false_alarms_stay_at_their_rate() -> None:
    random.seed(3)
    alarms = sum(steadiness_of([random.gauss(100, 5) for _ in range(8)]).trending(0.0) for _ in range(500))

    assert alarms <= 40  # 5 % of 500 is 25, plus three standard errors


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0]])
def test_too_little_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"steadiness|median"):
        steadiness_of(values)


@pytest.mark.parametrize(("noise", "most"), [(0.0007, 0.0), (0.003, 0.0), (0.01, 0.008), (0.05, 0.03)])
def test_windows_are_not_made_worthless_by_noise(noise: float, most: float) -> None:
    """0.07 % within a server on a GPU, 1 % on a quiet CPU; a floor of 2 %; a trend or a first value, either."""
    random.seed(5)
    for n in (5, 6, 8):
        found = [steadiness_of([random.gauss(1, noise) for _ in range(n)]) for _ in range(120)]
        alarms = sum(f.trending(0.02) or f.still_warming(0.02) for f in found)

        assert alarms <= 120 * most + 3 * (120 * most) ** 0.5


def test_a_first_value_is_called_only_where_chance_would_not_do_it() -> None:
    tight, wide = (85.0, 100.0, 100.2, 99.9, 100.1), (85.0, 100.0, 109.0, 91.0, 104.0)

    assert steadiness_of(tight).still_warming(0.02)
    assert steadiness_of(wide).may_be_warming(0.02)
    assert not steadiness_of(wide).first_off(0.02)
    assert not steadiness_of((85.0, 100.0, 100.1)).first_off(0.02)  # two others have no spread worth the name


def test_a_first_value_that_moves_no_mean_by_the_floor_is_no_unfinished_warm_up() -> None:
    """Cycles of one launch on a quiet H200, in ms: the window's median is right to 0.1 %."""
    found = steadiness_of((6.09, 5.97, 5.97, 5.97, 5.98, 5.97))

    assert found.first_off(0.01)
    assert not found.still_warming(0.01)
    assert found.median == pytest.approx(5.97, rel=0.001)
