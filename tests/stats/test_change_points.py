from __future__ import annotations

import numpy as np
import pytest

from tokgate.stats.change_points import SHORTEST, ChangePoint, change_points

PRIOR, LEAST = 0.005, 0.01


def history(*levels: tuple[float, int], spread: float = 0.005, seed: int = 1) -> list[float]:
    draw = np.random.default_rng(seed)
    return [
        float(level * np.exp(draw.normal(0, spread))) for level, sessions in levels for _ in range(sessions)
    ]


def found(values: list[float]) -> tuple[ChangePoint, ...]:
    return change_points(values, prior_sd=PRIOR, least=LEAST)


def test_a_level_that_fell_is_found_where_it_fell() -> None:
    (one,) = found(history((88.8, 12), (82.2, 5)))

    assert (one.at, one.n_before, one.n_after) == (12, 12, 5)
    assert one.change == pytest.approx(82.2 / 88.8 - 1, abs=0.01)


def test_levels_that_come_and_go_are_all_found() -> None:
    assert [one.at for one in found(history((88.8, 10), (82.2, 6), (95.0, 8)))] == [10, 16]


def test_noise_alone_is_seldom_told_of() -> None:
    told = sum(bool(found(history((88.8, 40), seed=seed))) for seed in range(300))

    assert told <= 3  # 1 % were allowed; benchmarks/change_points.py has the rates


def test_one_bad_day_is_no_new_level() -> None:
    assert found(history((88.8, 8), (60.0, 1), (88.8, 8))) == ()
    assert found(history((88.8, 12), (60.0, 1))) == ()


def test_a_change_smaller_than_what_is_asked_for_is_not_told() -> None:
    values = history((88.8, 30), (88.8 * 0.994, 30), spread=0.0005)

    assert found(values) == ()
    assert len(change_points(values, prior_sd=0.0005, least=0.003)) == 1


def test_a_few_sessions_have_no_levels() -> None:
    assert found(history((88.8, SHORTEST), (60.0, SHORTEST - 1))) == ()
    assert len(found(history((88.8, SHORTEST), (60.0, SHORTEST)))) == 1


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_measurement_is_an_error(bad: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        found([*history((88.8, 8)), bad])


def test_equal_values_have_one_level() -> None:
    assert found([88.8] * 20) == ()
