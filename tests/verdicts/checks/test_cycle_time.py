from __future__ import annotations

import pytest

from tests.verdicts.evidence import controls, eagle3, make_launch, make_rig, restarted, series
from tokgate.records import Outcome
from tokgate.verdicts.checks.cycle_time import cycle_time


def test_a_cycle_is_decode_time_per_verify_call_and_not_the_verify_phase() -> None:
    (verdict,) = cycle_time(make_rig(), eagle3(), "single")

    assert verdict.outcome is Outcome.PASS
    assert verdict.value == pytest.approx(255 / 59.8 / 138 * 1e3, rel=1e-3)
    assert verdict.headline.startswith("cycle per verify call 30.90 ms on eagle3-2step")
    assert any("not the latency of the verify phase" in e for e in verdict.evidence)


def test_a_cycle_over_its_ceiling_is_regressed() -> None:
    rig = make_rig(budgets=[{"metric": "cycle_ms", "at_most": 20.8}])
    (alone,) = cycle_time(rig, (eagle3(),), "single")
    (verdict,) = cycle_time(rig, (eagle3(), restarted(eagle3())), "single")

    assert alone.outcome is Outcome.INCONCLUSIVE
    assert alone.wanted == {"eagle3-2step": 1}
    assert verdict.outcome is Outcome.REGRESSED


def test_a_restart_that_does_not_speculate_is_off_and_not_left_out() -> None:
    name = "02-eagle3-2step"
    plain = restarted(make_launch(series(launch=name), id=name, arm="eagle3-2step", role="arm"))
    (verdict,) = cycle_time(make_rig(), (eagle3(), plain), "single")

    assert verdict.outcome is Outcome.INVALID
    assert "speculation is off" in verdict.headline
    assert verdict.launch == plain.launch.id


def test_the_control_has_no_cycle() -> None:
    (verdict,) = cycle_time(make_rig(), controls()[0], "single")

    assert verdict.outcome is Outcome.INVALID
    assert "does no speculation" in verdict.headline


def test_an_arm_whose_server_does_no_speculation_is_off_whatever_its_budget() -> None:
    name = "02-eagle3-2step"
    plain = make_launch(series(launch=name), id=name, arm="eagle3-2step", role="arm")
    (verdict,) = cycle_time(make_rig(budgets=[{"metric": "cycle_ms", "at_most": 50.0}]), plain, "single")

    assert verdict.outcome is Outcome.INVALID
    assert "speculation is off" in verdict.headline
