"""What nobody asked a launch for is neither planned, measured nor judged; what was asked stays as it was."""

from __future__ import annotations

from tests.session.test_side_launches import ARM, side_rig
from tests.verdicts.evidence import make_rig
from tests.verdicts.side_evidence import run_of
from tokgate.records import Verdict
from tokgate.records.side import HEAD
from tokgate.session.asked_for import AskedFor
from tokgate.session.pace import Pace
from tokgate.session.plan import LOSSLESS, batches_of, plan_launches, rig_for, workloads_of
from tokgate.session.session_plan import session_plan
from tokgate.verdicts.establish import establish_workload

RIG = side_rig()
FIRST = next(launch for launch in plan_launches(RIG) if launch.arm == ARM)


def taken(*names: str) -> list[str]:
    launch = AskedFor(workloads={FIRST.id: names}).of(FIRST)
    return [w.name for w in workloads_of(rig_for(RIG, launch), launch)]


def test_a_launch_takes_those_in_the_rig_s_order_each_as_the_rig_has_it() -> None:
    assert taken("conc4") == ["conc4"]
    assert taken("conc4", "single") == ["single", "conc4"]
    assert taken("single", LOSSLESS) == ["single", LOSSLESS]
    launch = AskedFor(workloads={FIRST.id: ("conc4",)}).of(FIRST)
    (own,) = rig_for(RIG, launch).workloads
    assert batches_of(own) == batches_of(RIG.workload("conc4"))  # warm-ups and all


def test_a_launch_that_nobody_limits_is_as_it_was() -> None:
    assert AskedFor().of(FIRST) == FIRST
    restart = FIRST.model_copy(update={"round": 1, "workloads": ("single",)})
    assert AskedFor(workloads={FIRST.id: ("conc4",)}).of(restart) == restart


def test_the_plan_counts_what_will_be_taken() -> None:
    asked = AskedFor(workloads={FIRST.id: ("conc4",)})
    (launch,) = session_plan(RIG, [FIRST.id], Pace(rig=RIG), samples=True, asked=asked).launches
    assert [work.workload for work in launch.work] == ["conc4"]


def test_a_workload_that_was_not_asked_for_is_told_so_and_not_as_a_fault_of_the_server() -> None:
    run = run_of(HEAD, 3)
    assert not isinstance(establish_workload(make_rig(), run, "single", check="patch"), Verdict)
    limited = run.launch.model_copy(update={"workloads": ("conc8",)})
    without = run.model_copy(update={"launch": limited, "generations": ()})
    found = establish_workload(make_rig(), without, "single", check="patch")
    assert isinstance(found, Verdict)
    told = "single was not measured: the tests that were selected ask for conc8 of this launch"
    assert found.headline.endswith(told)
