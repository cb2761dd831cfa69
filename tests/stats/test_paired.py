from __future__ import annotations

import pytest

from tokgate.rig.rules.instruments import FEWEST_PAIRS
from tokgate.stats.paired import paired
from tokgate.stats.summary import needed_for_interval


def test_what_both_members_of_a_pair_share_cancels() -> None:
    drifting = [(1.01 * level, level) for level in (10.0, 20.0, 15.0, 40.0, 12.0, 33.0)]
    found = paired(drifting)
    assert found.change == pytest.approx(0.01)
    assert found.interval == pytest.approx((0.01, 0.01))


def test_the_interval_is_that_of_the_median_whatever_the_distribution() -> None:
    found = paired([(1 + change, 1.0) for change in (-0.02, 0.0, 0.01, 0.03, 0.04, 0.9)])
    assert found.interval == pytest.approx((-0.02, 0.9))
    assert found.change == pytest.approx((1.01 * 1.03) ** 0.5 - 1)


def test_too_few_pairs_have_a_median_and_no_interval() -> None:
    found = paired([(1.1, 1.0)] * 5)
    assert found.interval is None
    assert "needs 1 more" in found.warnings[0]
    assert needed_for_interval() == FEWEST_PAIRS


@pytest.mark.parametrize("pairs", [[], [(0.0, 1.0)], [(1.0, float("nan"))], [(1.0, -1.0)]])
def test_what_is_no_pair_of_times_is_refused(pairs: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match=r"no values|not positive"):
        paired(pairs)
