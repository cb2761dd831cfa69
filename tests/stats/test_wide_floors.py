"""Floors so wide that nothing is called: a rig may write them, and no number runs over."""

from __future__ import annotations

import math

import pytest

from tokgate.stats.against_limit import against_limit
from tokgate.stats.decide import decide
from tokgate.stats.decision import Rule
from tokgate.stats.levels import RunValues

NOW = [RunValues(session="now", launch="01", values=(28.0, 29.0, 30.0))]
STORED = [RunValues(session="then", launch="01", values=(20.0, 21.0, 22.0))]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("relative", [1.0, 100.0])
def test_nothing_is_established_and_every_number_is_one(relative: float, higher: bool) -> None:
    rule = Rule(higher_is_better=higher, relative=relative, absolute=5.0, level=1e-5)
    limit = against_limit(NOW, 28.4, rule)
    stored = decide(NOW, STORED, rule, kind="stored")
    for found in (limit, stored):
        told = (found.low, found.high, found.smallest, found.loss, *found.interval)
        assert all(math.isfinite(number) for number in told), told
    assert not stored.established
