from __future__ import annotations

import pytest

from tokgate.records import Outcome
from tokgate.rig.limits import Floor
from tokgate.verdicts.change import judge_change
from tokgate.verdicts.metrics import METRICS

TOK_S, MS = METRICS["decode_tok_s"], METRICS["cycle_ms"]
FLOOR = Floor(relative=0.03, absolute=0.5)
BEFORE = (100.0, 100.2, 99.8, 100.1, 99.9, 100.0)


def moved(factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in BEFORE)


@pytest.mark.parametrize(
    ("factor", "faster_is_more", "faster_is_less"),
    [
        (0.90, Outcome.REGRESSED, Outcome.IMPROVED),
        (1.10, Outcome.IMPROVED, Outcome.REGRESSED),
        (0.98, Outcome.PASS, Outcome.PASS),
        (1.00, Outcome.PASS, Outcome.PASS),
        (1.02, Outcome.PASS, Outcome.PASS),
    ],
)
def test_the_direction_of_a_metric_decides(
    factor: float, faster_is_more: Outcome, faster_is_less: Outcome
) -> None:
    assert judge_change(moved(factor), BEFORE, TOK_S, FLOOR).outcome is faster_is_more
    assert judge_change(moved(factor), BEFORE, MS, FLOOR).outcome is faster_is_less


def test_both_floors_must_be_exceeded() -> None:
    """10 % of 2 ms is a lot, and yet only 0.2 ms."""
    tiny = tuple(v / 50 for v in BEFORE)
    slower = tuple(v * 1.1 for v in tiny)

    assert judge_change(slower, tiny, MS, Floor(relative=0.03, absolute=0.5)).outcome is Outcome.PASS
    assert judge_change(slower, tiny, MS, Floor(relative=0.03, absolute=0.1)).outcome is Outcome.REGRESSED


def test_a_gain_that_the_interval_cannot_bound_is_still_no_loss() -> None:
    assert judge_change(moved(1.025), BEFORE, TOK_S, FLOOR).outcome is Outcome.PASS


def test_noise_that_could_hide_a_loss_is_no_pass() -> None:
    noisy = (80.0, 120.0, 90.0, 110.0, 100.0, 95.0)
    found = judge_change(noisy, BEFORE, TOK_S, FLOOR)

    assert found.outcome is Outcome.INCONCLUSIVE
    assert "a loss beyond the floor is not excluded" in found.why
    assert found.do is not None
    assert "repeats a side would settle it" in found.do


def test_a_loss_as_large_as_the_floor_is_undecided() -> None:
    found = judge_change(moved(0.97), (90.0, 110.0, 100.0, 101.0, 99.0, 100.0), TOK_S, FLOOR)

    assert found.outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(("now", "before"), [(3, 6), (6, 3), (1, 1)])
def test_too_few_values_are_undecided_however_far_apart(now: int, before: int) -> None:
    found = judge_change(moved(0.5)[:now], BEFORE[:before], TOK_S, FLOOR)

    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.why == f"n={now}+{before}, 4 a side needed"


def test_a_change_is_told_relative_to_the_reference() -> None:
    found = judge_change(moved(0.9), BEFORE, TOK_S, FLOOR)

    assert found.reference == 100.0
    assert found.change == pytest.approx(-0.1, abs=0.001)
    assert found.interval is not None
    assert found.interval[0] < -0.1 < found.interval[1] < -0.09
