"""A first value that lies off: the other launches of the workload tell a disturbance from a warm-up that is too short."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.verdicts.evidence import STEADY, controls, make_rig, make_run
from tokgate.report.warm_up import with_warm_ups
from tokgate.verdicts.checks.steadiness import steadiness

COLD = (37.2, 44.5, 44.7, 44.6, 44.4, 44.8)


@pytest.mark.parametrize(
    ("before", "do"),
    [
        (STEADY, "measure again: of 2 launches of single 04-baseline-again alone began so"),
        (COLD, "raise warmup of single by one: 2 of 2 launches begin so"),
    ],
    ids=["one of two", "both"],
)
def test_the_other_launches_say_which_it_is(before: Sequence[float], do: str) -> None:
    rig, run = make_rig(), make_run(*controls(before, COLD))
    (verdict,) = with_warm_ups(rig, run, steadiness(rig, run.launches[1], "single"))
    assert "the warm-up of single was not over" in verdict.headline
    assert verdict.do is not None
    assert verdict.do.startswith(do)


def test_a_launch_without_another_keeps_the_step_of_its_own_check() -> None:
    rig, run = make_rig(), make_run(controls(COLD)[0])
    told = steadiness(rig, run.launches[0], "single")
    assert with_warm_ups(rig, run, told) == told
