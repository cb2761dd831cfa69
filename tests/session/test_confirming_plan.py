"""How many server runs the loss of a change takes is told before the first: those the rule will really ask for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.session.test_session_plan import session
from tests.session.test_side_launches import side_rig
from tests.stats.test_sides_of_a_change import decided
from tokgate.records import Outcome
from tokgate.session.pace import Pace
from tokgate.session.plan import timed_launches
from tokgate.session.session_plan import session_plan


def told(seconds: float, **sampling: Any) -> str:
    rig = side_rig()
    rig = rig.model_copy(update={"sampling": rig.sampling.model_copy(update=sampling)})
    pace = Pace(rig, sessions=(session(1.0, rest=seconds),), last="2026-11-29")
    plan = session_plan(rig, [launch.id for launch in timed_launches(rig)], pace, samples=True)
    return next((line for line in plan.details if "is called on" in line), "")


def test_the_number_that_is_told_is_the_one_that_is_needed() -> None:
    most = re.search(r"2 to (\d) server runs of each side", told(1.0))
    assert most is not None
    needed = next(
        n
        for n in range(1, 9)
        if decided([90.0 + k / 100 for k in range(n)], [100.0 + k / 100 for k in range(n)]).outcome
        is Outcome.REGRESSED
    )
    assert int(most[1]) == needed == 4
    assert f"up to {needed - 1} more of head and base" in told(1.0)


def test_a_time_that_does_not_hold_them_is_told_with_one_that_does() -> None:
    assert "do not hold that" not in told(1.0, gpu_time_s=600.0)
    short = told(300.0, gpu_time_s=600.0)
    raised = re.search(
        r"the 1200 s for restarts do not hold that for one arm: --rig-set sampling.gpu_time_s=(\d+)", short
    )
    assert raised is not None
    assert "do not hold that" not in told(300.0, gpu_time_s=float(raised[1]))


@pytest.mark.parametrize("seconds", [0.0])
def test_without_restarts_there_is_none_to_tell_of(seconds: float) -> None:
    assert not told(1.0, gpu_time_s=seconds)
