"""Launches of a session that measures a change: their order, their sides, and how restarts take turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.session.rigs import small_rig
from tokgate.records import Launch, LaunchEvidence, Outcome, Verdict
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.extra_starts import extra_batches
from tokgate.session.pace import Pace
from tokgate.session.plan import instrumented_launches, plan_launches, rig_for, side_launches, timed_launches
from tokgate.session.preamble import possible_launches
from tokgate.session.restarts import restart_launches
from tokgate.session.session_plan import session_plan
from tokgate.verdicts.sampling import next_step
from tokgate.verdicts.stop_rule import More, Stop
from tokgate.verdicts.subjects import read_subject, subject_of

ARM, OTHER = "eagle3-2step", "eagle3-pinned"


def side_rig(spec: SidesSpec | None = None) -> Rig:
    return small_rig().model_copy(update={"sides": spec or SidesSpec(repository="/src/sglang", base="main")})


def restarts(runs: Mapping[str, int], *, made: Sequence[Launch] = (), number: int = 1) -> tuple[Launch, ...]:
    return restart_launches(
        runs, ("single",), number=number, planned=possible_launches(side_rig()), made=made
    )


def sides_of(launches: Sequence[Launch]) -> list[tuple[str, str | None]]:
    return [(launch.arm, launch.side) for launch in launches]


def test_each_arm_is_launched_from_head_and_base_one_right_behind_the_other_and_the_control_closes() -> None:
    assert [launch.id for launch in timed_launches(side_rig())] == [
        "01-baseline", "02-baseline-base", "03-eagle3-2step", "04-eagle3-2step-base",
        "05-eagle3-pinned", "06-eagle3-pinned-base", "07-baseline-again",
    ]  # fmt: skip
    assert {launch.side for launch in plan_launches(side_rig())} == {HEAD}
    assert {(launch.side, launch.role) for launch in side_launches(side_rig())} == {(BASE, "side")}
    assert all(launch.side == HEAD for launch in instrumented_launches(side_rig()))


def test_the_base_is_measured_as_the_head_is_and_never_stands_for_the_arm() -> None:
    rig = side_rig()
    base, head = side_launches(rig)[1], plan_launches(rig)[1]
    assert rig_for(rig, base).workloads == rig_for(rig, head).workloads
    assert base.timed
    assert not base.stands_for_arm
    starts = [len(list(extra_batches(rig, one, rig.workloads[0]))) for one in (base, head)]
    assert starts[0] == starts[1] > 0


def test_without_a_change_nothing_is_another() -> None:
    assert side_launches(small_rig()) == ()
    assert timed_launches(small_rig()) == plan_launches(small_rig())
    assert all(launch.side is None for launch in possible_launches(small_rig()))


def test_restarts_of_both_sides_take_turns_in_who_is_first() -> None:
    made: list[Launch] = []
    for number in range(1, 4):
        made += restarts({ARM: 1, f"{ARM}+base": 1, "baseline": 1}, made=made, number=number)
    told = sides_of(made)
    assert [side for arm, side in told if arm == ARM] == [BASE, HEAD, HEAD, BASE, BASE, HEAD]
    assert [arm for arm, _ in told] == [ARM, ARM, "baseline"] * 3
    assert made[0].id == f"10-{ARM}-base-restart-1"
    assert [launch.role for launch in made[:3]] == ["side", "restart", "restart"]


def test_two_pairs_at_once_are_balanced_as_well_and_sides_stay_neighbours() -> None:
    found = restarts({ARM: 2, f"{ARM}+base": 2, OTHER: 1, f"{OTHER}+base": 1})
    assert [side for arm, side in sides_of(found) if arm == ARM] == [BASE, HEAD, HEAD, BASE]
    arms = [arm for arm, _ in sides_of(found)]
    assert arms == [ARM, ARM, ARM, ARM, OTHER, OTHER]


@pytest.mark.parametrize(
    "subject", [ARM, f"{ARM}+base", f"{ARM}+upto-3", f"{ARM}+phases", f"{ARM}+base+phases"]
)
def test_what_is_restarted_is_a_run_of_what_was_asked_for(subject: str) -> None:
    (found,) = restarts({subject: 1})
    assert subject_of(found) == subject
    assert read_subject(subject).text == subject
    assert found.side == (read_subject(subject).side or HEAD)


def verdict(outcome: Outcome, wanted: Mapping[str, int] | None = None, *, check: str = "patch") -> Verdict:
    return Verdict(
        check=check,
        outcome=outcome,
        headline="undecided",
        arm=ARM,
        workload="single",
        metric="decode_tok_s",
        change=-0.04,
        wanted=dict(wanted or {}),
    )


def measured(rig: Rig, *, phases: bool = False, seconds: float = 10.0) -> list[LaunchEvidence]:
    launches = [*timed_launches(rig), *(instrumented_launches(rig) if phases else ())]
    return [LaunchEvidence(launch=launch, wall_s=seconds) for launch in launches]


def test_a_restart_of_a_head_brings_one_of_its_base_and_the_control_behind_both() -> None:
    rig = side_rig()
    found = next_step(rig, measured(rig), [verdict(Outcome.INCONCLUSIVE, {ARM: 2}, check="stored_baseline")])
    assert isinstance(found, More)
    assert found.runs == {ARM: 2, f"{ARM}+base": 2, "baseline": 1}


def test_a_base_that_lags_behind_is_restarted_alone() -> None:
    rig = side_rig()
    found = next_step(rig, measured(rig), [verdict(Outcome.INCONCLUSIVE, {f"{ARM}+base": 1})])
    assert isinstance(found, More)
    assert found.runs == {f"{ARM}+base": 1, "baseline": 1}


def test_beside_a_loss_that_is_called_the_base_is_launched_once_with_instruments() -> None:
    rig = side_rig()
    lost = [verdict(Outcome.REGRESSED)]
    found = next_step(rig, measured(rig, phases=True), lost)
    assert isinstance(found, More)
    assert found.runs == {f"{ARM}+base+phases": 1}
    assert "which phase the loss of eagle3-2step in single lies in" in found.reason
    (made,) = restart_launches(found.runs, found.workloads, number=1, planned=possible_launches(rig), made=())
    assert (made.role, made.side, made.carries) == ("side-phases", BASE, True)
    assert [w.name for w in rig_for(rig, made).workloads] == ["single"]
    again = [*measured(rig, phases=True), LaunchEvidence(launch=made, wall_s=5.0)]
    assert isinstance(next_step(rig, again, lost), Stop)


def test_where_the_plan_has_no_instruments_both_sides_are_launched_once_with_them() -> None:
    rig = side_rig()
    found = next_step(rig, measured(rig), [verdict(Outcome.REGRESSED)])
    assert isinstance(found, More)
    assert found.runs == {f"{ARM}+base+phases": 1, f"{ARM}+phases": 1}
    assert found.cost_s == 20.0
    made = restart_launches(found.runs, found.workloads, number=1, planned=possible_launches(rig), made=())
    assert [(one.role, one.side) for one in made] == [("side-phases", BASE), ("instrumented", HEAD)]
    again = [*measured(rig), *(LaunchEvidence(launch=one, wall_s=5.0) for one in made)]
    assert isinstance(next_step(rig, again, [verdict(Outcome.REGRESSED)]), Stop)


def test_beside_phases_that_failed_on_one_side_the_other_is_not_launched() -> None:
    rig = side_rig()
    carrying = instrumented_launches(rig)[0]
    launches = [*measured(rig), LaunchEvidence(launch=carrying, wall_s=9.0, faults=("the host was lost",))]
    assert isinstance(next_step(rig, launches, [verdict(Outcome.REGRESSED)]), Stop)


@pytest.mark.parametrize(("skip", "outcome"), [(None, Outcome.PASS), ("no probe here", Outcome.REGRESSED)])
def test_nobody_asks_for_phases_otherwise(skip: str | None, outcome: Outcome) -> None:
    rig = side_rig()
    rig = rig.model_copy(update={"instruments": rig.instruments.model_copy(update={"skip": skip})})
    assert isinstance(next_step(rig, measured(rig), [verdict(outcome)]), Stop)


def test_phases_that_the_time_left_does_not_hold_are_left_to_another_session() -> None:
    rig = side_rig()
    found = next_step(rig, measured(rig, seconds=1e6), [verdict(Outcome.REGRESSED)])
    assert isinstance(found, Stop)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (SidesSpec(repository="/src/sglang", base="main", head="fix"), "/src/sglang, fix against main"),
        (SidesSpec(repository="/src/sglang", base="main"), "the working tree as it lies against main"),
        (
            SidesSpec(patches=(PatchText(name="a.patch", text=""),)),
            "the SGLang that /opt/ml/bin/python imports, as it is with a.patch, against as it is",
        ),
    ],
)
def test_the_plan_says_what_is_held_against_what(spec: SidesSpec, told: str) -> None:
    rig = side_rig(spec)
    plan = session_plan(rig, [e.id for e in timed_launches(rig)], Pace(rig=rig), samples=True)
    assert any(told in line for line in plan.details)
    assert any("instruments tells its phase" in line for line in plan.details)
    assert len(plan.launches) == 7
