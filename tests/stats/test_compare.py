from __future__ import annotations

import random
from typing import Literal

import pytest
from scipy import stats

from tokgate.stats.compare import compare, needed_a_side, p_words

BEFORE = [44.6, 44.5, 44.7, 44.6, 44.4, 44.8]
AFTER = [59.8, 59.6, 60.0, 59.7, 59.9, 59.5]


def test_a_clear_gain_is_established_with_an_interval_around_its_ratio() -> None:
    found = compare(AFTER, BEFORE)

    assert found.established
    assert found.ratio == pytest.approx(59.75 / 44.6, rel=0.002)
    assert found.interval is not None
    assert 1.33 < found.interval[0] < found.ratio < found.interval[1] < 1.35
    assert found.p < 0.01


def test_the_other_way_round_is_the_reciprocal() -> None:
    there, back = compare(AFTER, BEFORE), compare(BEFORE, AFTER)

    assert there.interval is not None
    assert back.interval is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.interval == pytest.approx((1 / there.interval[1], 1 / there.interval[0]))
    assert back.p == there.p


def test_a_series_does_not_differ_from_itself() -> None:
    found = compare(BEFORE, BEFORE)

    assert not found.established
    assert found.p == 1.0
    assert found.ratio == pytest.approx(1.0)


@pytest.mark.parametrize(("a", "b"), [(3, 3), (3, 20), (1, 1)])
def test_fewer_than_four_a_side_establish_nothing(a: int, b: int) -> None:
    found = compare([100.0 + i / 10 for i in range(a)], [10.0 + i / 10 for i in range(b)])

    assert not found.established
    assert found.interval is None
    assert found.ratio == pytest.approx(10, rel=0.1)
    assert found.warnings == (f"n={a}+{b} is too few to establish a difference: it needs 4 a side",)


def test_four_a_side_suffice_at_95_percent_five_at_99() -> None:
    assert (needed_a_side(), needed_a_side(0.99)) == (4, 5)
    assert compare([2.0, 2.1, 2.2, 2.3], [1.0, 1.1, 1.2, 1.3]).established
    assert not compare([2.0, 2.1, 2.2, 2.3], [1.0, 1.1, 1.2, 1.3], confidence=0.99).established


@pytest.mark.parametrize(
    ("n", "m", "method"), [(4, 4, "exact"), (6, 5, "exact"), (10, 17, "exact"), (61, 70, "asymptotic")]
)
def test_p_agrees_with_the_mann_whitney_test_of_scipy(
    n: int, m: int, method: Literal["exact", "asymptotic"]
) -> None:
    random.seed(n)
    a, b = ([random.lognormvariate(shift, 0.1) for _ in range(k)] for shift, k in ((0.04, n), (0, m)))

    assert compare(a, b).p == pytest.approx(stats.mannwhitneyu(a, b, method=method).pvalue, rel=1e-3)


def test_established_is_the_interval_and_p_at_once() -> None:
    random.seed(7)
    for _ in range(300):
        a, b = ([round(random.gauss(mean, 1), 1) for _ in range(6)] for mean in (10, 11))
        found = compare(a, b)
        assert found.interval is not None
        assert found.established == (found.p <= 0.05)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random.seed(11)
    held = 0
    for _ in range(1000):
        a, b = ([random.lognormvariate(shift, 0.05) for _ in range(6)] for shift in (0.1, 0))
        interval = compare(a, b).interval
        assert interval is not None
        held += interval[0] <= 1.10517 <= interval[1]

    assert held >= 940  # 95 % less three standard errors, rounded


def test_a_stuck_clock_is_noticed() -> None:
    found = compare([5.0] * 6, [5.0] * 6)

    assert not found.established
    assert found.warnings == ("36 of 36 pairs are equal to the last digit: a clock too coarse?",)


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [float("nan")])])
def test_nothing_and_nonsense_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match=r"empty|positive"):
        compare(a, b)


@pytest.mark.parametrize(
    ("p", "words"), [(0.0263, "p=0.026"), (0.001, "p=0.001"), (4e-6, "p<0.001"), (1.0, "p=1.000")]
)
def test_no_p_is_said_to_be_nothing(p: float, words: str) -> None:
    assert p_words(p) == words
