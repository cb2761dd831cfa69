"""Restarts as launches: their names, what they take, and whose numbers they are."""

from __future__ import annotations

import pytest

from tests.session.rigs import small_rig
from tests.session.test_plan import instrumented_rig
from tokgate.records import Launch, LaunchEvidence
from tokgate.rig.models import Rig
from tokgate.session.plan import rig_for, workloads_of
from tokgate.session.preamble import possible_launches
from tokgate.session.restarts import of_subject, restart_launches
from tokgate.verdicts.subjects import subject_of

ARM = "eagle3-2step"


def restarts(
    rig: Rig, runs: dict[str, int], *, number: int = 1, made: tuple[Launch, ...] = ()
) -> tuple[Launch, ...]:
    return restart_launches(runs, ("single",), number=number, planned=possible_launches(rig), made=made)


def test_numbers_go_on_after_all_that_the_rig_can_launch_and_arms_take_turns() -> None:
    rig = instrumented_rig()
    last = max(launch.id for launch in possible_launches(rig))
    behind = int(last[:2])
    first = restarts(rig, {"baseline": 1, ARM: 2})
    assert [launch.id for launch in first] == [
        f"{behind + 1:02d}-{ARM}-restart-1",
        f"{behind + 2:02d}-{ARM}-restart-2",
        f"{behind + 3:02d}-baseline-restart-1",
    ]
    (second,) = restarts(rig, {ARM: 1}, number=2, made=first)
    assert second.id == f"{behind + 4:02d}-{ARM}-restart-3"
    assert ({launch.round for launch in first}, second.round) == ({1}, 2)


@pytest.mark.parametrize(
    ("runs", "order"),
    [
        ({"baseline": 2, ARM: 2}, [ARM, "baseline", ARM, "baseline"]),
        ({ARM: 1, "baseline": 2}, ["baseline", ARM, "baseline"]),
        ({ARM: 3, "baseline": 2}, [ARM, ARM, "baseline", ARM, "baseline"]),
        ({ARM: 1, f"{ARM}+phases": 1, "baseline": 1}, [ARM, f"{ARM}+phases", "baseline"]),
    ],
)
def test_arms_take_turns_and_the_control_comes_last(runs: dict[str, int], order: list[str]) -> None:
    """A slope meets them alike, and the run behind all others shows it."""
    assert [subject_of(launch) for launch in restarts(instrumented_rig(), runs)] == order


def test_a_restart_is_one_more_run_of_its_arm_and_with_instruments_of_its_phases() -> None:
    rig = instrumented_rig()
    plain, carrying = restarts(rig, {ARM: 1, f"{ARM}+phases": 1})
    assert plain.stands_for_arm
    assert subject_of(plain) == ARM
    assert not carrying.stands_for_arm
    assert carrying.id.endswith(f"-{ARM}-phases-restart-1")
    assert subject_of(carrying) == f"{ARM}+phases"
    (planned,) = [e for e in possible_launches(rig) if subject_of(e) == subject_of(carrying)]
    assert planned.role == carrying.role == "instrumented"


def test_it_takes_the_workloads_in_question_only_and_nothing_that_is_not_timed() -> None:
    rig = small_rig()
    (restart,) = restarts(rig, {ARM: 1})
    own = rig_for(rig, restart)
    assert [w.name for w in workloads_of(own, restart)] == ["single"]
    assert own.server == rig.server
    every = restart.model_copy(update={"workloads": ()})
    assert [w.name for w in workloads_of(rig_for(rig, every), every)] == ["single", "conc4"]


def test_with_instruments_neither_the_cost_of_a_probe_nor_a_trace_is_taken_again() -> None:
    rig = instrumented_rig(cost_pairs=8, repeats=3)
    (restart,) = restarts(rig, {f"{ARM}+phases": 1})
    own = rig_for(rig, restart)
    assert own.instruments.cost_pairs == 0
    assert not own.instruments.trace
    assert [(w.name, w.repeats) for w in own.workloads] == [("single", 3)]


def test_runs_of_an_arm_are_those_that_took_the_workload() -> None:
    rig = small_rig()
    first = restarts(rig, {ARM: 1, "baseline": 1})
    second = restart_launches({ARM: 1}, ("conc4",), number=2, planned=possible_launches(rig), made=first)
    evidence = [LaunchEvidence(launch=launch) for launch in (*first, *second)]
    planned = LaunchEvidence(launch=Launch(id=f"02-{ARM}", arm=ARM, role="arm"))
    found = of_subject([planned, *evidence], ARM, "single")
    assert [e.launch.id for e in found] == [first[0].id]
    assert [e.launch.id for e in of_subject(evidence, ARM, "conc4")] == [second[0].id]
