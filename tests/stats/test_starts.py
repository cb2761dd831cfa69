"""More starts where they spread, and never because of where they lie."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tokgate.stats.starts import FEWEST, enough_starts, standard_error

DETECT = 0.03


def take(series: np.ndarray, *, cap: int) -> list[float]:
    """Take starts until there are enough, as a launch does."""
    taken: list[float] = []
    for value in series:
        if len(taken) >= FEWEST and enough_starts(taken, detect=DETECT, cap=cap):
            break
        taken.append(float(value))
    return taken


def test_a_quiet_series_has_enough_at_once_and_a_wide_one_reaches_the_cap() -> None:
    quiet = [100.0, 100.1, 99.9, 100.05, 99.95, 100.0]
    wide = [100.0, 104.0, 96.0, 103.0, 97.0, 100.0]
    assert enough_starts(quiet, detect=DETECT, cap=12)
    assert not enough_starts(wide, detect=DETECT, cap=12)
    assert enough_starts(wide * 2, detect=DETECT, cap=12)


def test_fewer_than_six_are_no_ground_to_stop_on() -> None:
    assert not enough_starts([100.0] * (FEWEST - 1), detect=DETECT, cap=12)
    assert enough_starts([100.0] * FEWEST, detect=DETECT, cap=12)


def test_the_limit_is_a_tenth_of_the_loss_to_be_seen() -> None:
    values = [100.0 * math.exp(x) for x in (-0.01, -0.006, -0.002, 0.002, 0.006, 0.01)]
    error = standard_error(values)
    assert error == pytest.approx(math.sqrt(math.pi / 2 / 6) * 0.00748331, rel=1e-4)
    assert enough_starts(values, detect=10 * error * 1.001, cap=12)
    assert not enough_starts(values, detect=10 * error * 0.999, cap=12)


def test_it_is_the_same_for_a_server_twice_as_fast_and_for_a_mirrored_series() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        values = list(np.exp(rng.normal(4.6, 0.01, 8)))
        answer = enough_starts(values, detect=DETECT, cap=20)
        assert enough_starts([2 * v for v in values], detect=DETECT, cap=20) is answer
        assert enough_starts([1 / v for v in values], detect=DETECT, cap=20) is answer


@pytest.mark.parametrize("values", [[], [100.0, 0.0] * 4, [100.0, float("nan")] * 4, [-1.0] * 8])
def test_what_is_no_number_asks_for_no_more(values: list[float]) -> None:
    assert enough_starts(values, detect=DETECT, cap=20)


def test_the_median_stays_unbiased_although_its_spread_has_chosen_n() -> None:
    """6000 launches: the bias is below a hundredth of one start's spread, and the tails are as heavy on both sides."""
    rng = np.random.default_rng(11)
    spread, medians, counts = 0.01, [], []
    for row in rng.normal(0.0, spread, (6_000, 24)):
        taken = take(np.exp(row), cap=24)
        counts.append(len(taken))
        medians.append(float(np.median(np.log(taken))))
    assert len(set(counts)) > 5  # the rule did choose
    assert abs(float(np.mean(medians))) < 0.01 * spread
    low, high = np.quantile(medians, [0.01, 0.99])
    assert abs(low + high) < 0.05 * spread
