"""A real server is gone when it should be, whole, and nobody else with it."""

from __future__ import annotations

import pytest

from .conftest import Told
from .doomed_gate import GONE_S, Doomed

pytestmark = pytest.mark.engine


def test_a_stop_leaves_nothing(golden_plain: Told, golden_eagle3: Told) -> None:
    for told in (golden_plain, golden_eagle3):
        assert told.stop.asked == "term"
        assert not told.stop.killed
        assert told.stop.survivors == ()


def test_a_killed_gate_leaves_nothing(doomed: Doomed) -> None:
    assert doomed.alive_before >= 3  # main process, scheduler, detokenizer
    assert doomed.alive_after == ()
    assert doomed.gone_after_s < GONE_S


def test_a_bystander_is_left_alone(doomed: Doomed) -> None:
    assert doomed.bystander_lives
