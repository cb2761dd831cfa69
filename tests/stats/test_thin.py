from __future__ import annotations

import random

from tokgate.stats.thin import thinned, without_repeats


def test_few_values_all_stay() -> None:
    assert thinned([3.0, 1.0, 2.0], 3) == (0, 1, 2)
    assert thinned([], 3) == ()


def test_no_extreme_is_lost_and_no_value_is_made_up() -> None:
    dice = random.Random(1)
    values = [dice.gauss(20, 1) for _ in range(100_000)]
    values[31_415] = 95.0
    values[77_777] = 2.0
    kept = thinned(values, 600)

    assert {31_415, 77_777, 0, 99_999} <= set(kept)
    assert list(kept) == sorted(set(kept))
    assert 400 <= len(kept) <= 602


def test_the_middle_of_what_is_kept_is_the_middle_of_all() -> None:
    values = [float(i % 100) for i in range(10_000)]
    kept = sorted(values[i] for i in thinned(values, 300))
    assert abs(kept[len(kept) // 2] - 50) <= 1


def test_of_equal_neighbours_the_two_ends_stay() -> None:
    assert without_repeats([5.0, 5.0, 5.0, 6.0, 6.0, 5.0]) == (0, 2, 3, 4, 5)
    assert without_repeats([5.0]) == (0,)
