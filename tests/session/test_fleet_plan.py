from __future__ import annotations

import pytest

from tests.session.rigs import small_rig
from tests.session.test_plan import instrumented_rig
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec
from tokgate.session.fleet_plan import group_of, group_plan, groups_of, reckoned_s, shift_plan
from tokgate.session.preamble import possible_launches


def wanted(rig: Rig) -> tuple[str, ...]:
    return tuple(
        launch.id for launch in possible_launches(rig) if launch.role not in ("sweep", "sweep-control")
    )


def test_every_launch_is_made_by_each_host_or_belongs_to_one_group() -> None:
    rig = instrumented_rig()
    plan, found = shift_plan(rig, wanted(rig)), []
    for group in groups_of(rig, wanted(rig)):
        own = group_plan(rig, group, wanted(rig))
        assert own.timed, "a group without a timed launch would be measured after its bracket"
        found += [*own.timed, *own.behind]
    shared = [*plan.first, *plan.last, *plan.behind]
    assert sorted(launch.id for launch in [*shared, *found]) == sorted(wanted(rig))
    assert {group_of(rig, launch) for launch in shared} == {None}
    assert [launch.role for launch in plan.first][-1] == "control"
    assert [launch.role for launch in plan.last] == ["control-again"]


def test_the_control_arm_alone_is_one_group() -> None:
    rig = small_rig()
    assert groups_of(rig, ("01-baseline",)) == ("baseline",)
    assert group_plan(rig, "baseline", ("01-baseline",)) == ((), ())
    assert groups_of(rig, ()) == ()


@pytest.mark.parametrize(
    ("at_once", "each_on", "launches", "seconds"),
    [(1, 1, 4, 40.0), (2, 1, 6, 30.0), (9, 1, 6, 30.0), (2, 2, 8, 40.0), (1, 2, 8, 80.0)],
)
def test_what_a_pool_takes(at_once: int, each_on: int, launches: int, seconds: float) -> None:
    """Two arms of 10 s each between two launches of the control arm; more hosts than arms are of no use."""
    rig = small_rig()
    each = dict.fromkeys(("01-baseline", "02-eagle3-2step", "03-eagle3-pinned", "04-baseline-again"), 10.0)
    assert reckoned_s(rig, each, at_once, each_on=each_on) == (launches, seconds)


def test_both_sides_of_an_arm_are_one_hosts_and_those_of_the_control_arm_every_hosts() -> None:
    rig = small_rig().model_copy(update={"sides": SidesSpec(repository="/sglang", base="main")})
    asked = wanted(rig)
    for group in groups_of(rig, asked):
        timed = group_plan(rig, group, asked).timed
        assert [(launch.arm, launch.side) for launch in timed] == [(group, "head"), (group, "base")]
    shared = shift_plan(rig, asked)
    assert [(launch.role, launch.side) for launch in (*shared.first, *shared.last)] == [
        ("control", "head"),
        ("side", "base"),
        ("control-again", "head"),
    ]
