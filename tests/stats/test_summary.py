from __future__ import annotations

import math

import pytest
from scipy import stats

from tokgate.stats.summary import needed_for_interval, summarise


def test_centre_and_spread() -> None:
    summary = summarise([3.0, 1.0, 2.0, 10.0])

    assert (summary.n, summary.median, summary.mean) == (4, 2.5, 4.0)
    assert (summary.minimum, summary.maximum) == (1.0, 10.0)


def test_six_values_are_the_least_for_an_interval_at_95_percent() -> None:
    assert needed_for_interval() == 6
    assert summarise([1, 2, 3, 4, 5]).interval is None
    assert summarise([6, 5, 4, 3, 2, 1]).interval == (1, 6)


def test_too_few_values_say_how_many_are_missing() -> None:
    assert summarise([1.0, 2.0]).warnings == (
        "n=2 is too few for a 95% interval of the median: it needs 4 more",
    )
    assert summarise([1.0] * 6).warnings == ()


@pytest.mark.parametrize("n", [6, 9, 20, 51])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_interval_is_the_narrowest_that_keeps_the_confidence(n: int, confidence: float) -> None:
    summary = summarise([float(i) for i in range(1, n + 1)], confidence=confidence)
    if summary.interval is None:
        assert 1 - 2 * 0.5**n < confidence
        return

    rank = round(summary.interval[0])
    assert summary.interval[1] == n + 1 - rank
    assert 1 - 2 * stats.binom.cdf(rank - 1, n, 0.5) >= confidence
    assert 1 - 2 * stats.binom.cdf(rank, n, 0.5) < confidence


def test_one_outlier_does_not_move_the_interval() -> None:
    calm = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 10.8]

    assert summarise(calm).interval == summarise([*calm[:-1], 1e9]).interval


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_nothing_and_nonsense_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no values|finite"):
        summarise(values)


def test_more_than_a_thousand_values_have_an_interval() -> None:
    summary = summarise([float(i) for i in range(2001)])
    assert summary.interval is not None
    assert 900 < summary.interval[0] < summary.median < summary.interval[1] < 1100


def test_a_hundred_thousand_values_have_an_interval_without_minutes_of_arithmetic() -> None:
    """P(Binomial(100 000, 1/2) < 49 690) is 2.48 %; sums of floats would be zero there."""
    assert summarise([float(v) for v in range(100_000)]).interval == (49_689.0, 50_310.0)
