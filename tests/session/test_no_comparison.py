"""Once a side is known not to start, the rest of a session is what something can still come of; the reason is told once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.session.test_side_launches import ARM, OTHER, side_rig
from tests.verdicts.evidence import make_slate
from tests.verdicts.side_evidence import run_of
from tokgate.records import Finding, LaunchEvidence, StartCause, StartFailure
from tokgate.records.side import BASE, HEAD
from tokgate.session.no_comparison import left_out, starts_alone
from tokgate.session.plan import instrumented_launches, timed_launches
from tokgate.verdicts.launch_faults import launch_faults
from tokgate.verdicts.sampling import next_step
from tokgate.verdicts.side_faults import did_not_start
from tokgate.verdicts.stop_rule import Stop

CRASHED = StartFailure(cause=StartCause.CRASHED, headline="ImportError: no", do="read the log")
TAKEN = StartFailure(cause=StartCause.PORT_TAKEN, headline="the port is taken", do="end whoever has it")
SLIP = StartFailure(cause=StartCause.DOES_NOT_COMPILE, headline="SyntaxError: no", do="mend x.py, line 3")
SERVER = run_of(HEAD, 1).server
Fails = Mapping[tuple[str, str], StartFailure]


def session(
    fails: Fails, *, change_alone: bool = True, broken: Mapping[str, StartFailure] | None = None
) -> dict[str, LaunchEvidence]:
    """Go through all launches as a session does. `fails`: arm and side -> why its server does not start."""
    rig = side_rig()
    done: dict[str, LaunchEvidence] = {}
    planned = (*timed_launches(rig), *(() if change_alone else instrumented_launches(rig)))
    for launch in planned:
        measured = tuple(done.values())
        found = LaunchEvidence(launch=launch, wall_s=10.0)
        reason = left_out(rig, measured, launch, broken=broken or {}, change_alone=change_alone)
        failure = (broken or {}).get(launch.side or "") or fails.get((launch.arm, launch.side or ""))
        if reason is not None:
            found = found.model_copy(update={"left_out": reason})
        elif failure is not None:
            found = found.model_copy(update={"failure": failure})
        else:
            alone = starts_alone(measured, launch)
            found = found.model_copy(update={"server": SERVER, "left_out": alone})
        done[launch.id] = found
    return done


def told(found: Mapping[str, LaunchEvidence]) -> dict[str, str]:
    """Return what became of each launch, by its number."""

    def one(evidence: LaunchEvidence) -> str:
        if evidence.failure is not None:
            return "failed"
        if evidence.left_out is None:
            return "measured"
        return "started" if evidence.server is not None else "left out"

    return {name.partition("-")[0]: one(evidence) for name, evidence in found.items()}


def test_a_head_that_breaks_one_arm_leaves_that_arm_s_base_to_say_whose_fault_it_is() -> None:
    found = session({(ARM, HEAD): CRASHED})
    assert told(found) == {
        "01": "measured", "02": "measured", "03": "failed", "04": "started", "05": "measured", "06": "measured",
        "07": "measured",
    }  # fmt: skip


def test_where_no_arm_is_left_to_compare_the_second_control_stands_around_nothing() -> None:
    found = session({(ARM, HEAD): CRASHED, (OTHER, HEAD): CRASHED})
    assert told(found)["07"] == "left out"
    kept = session({(ARM, HEAD): CRASHED, (OTHER, HEAD): CRASHED}, change_alone=False)
    assert told(kept)["07"] == "measured"  # the control's own promises are asked too


def test_what_breaks_the_control_arm_is_tried_with_no_other() -> None:
    found = told(session({(arm, HEAD): CRASHED for arm in ("baseline", ARM, OTHER)}))
    assert found == {
        "01": "failed", "02": "started", "03": "left out", "04": "left out", "05": "left out", "06": "left out",
        "07": "left out",
    }  # fmt: skip


@pytest.mark.parametrize("change_alone", [True, False])
def test_a_base_that_does_not_start_keeps_the_head_s_own_promises(change_alone: bool) -> None:
    found = told(session({("baseline", BASE): CRASHED}, change_alone=change_alone))
    assert found["02"] == "failed"
    heads, bases = {found["03"], found["05"], found["07"]}, {found["04"], found["06"]}
    assert heads == {"left out" if change_alone else "measured"}
    assert bases == {"left out"}
    assert change_alone or found["08"] == "measured"  # with instruments


@pytest.mark.parametrize(("side", "first"), [(HEAD, "01"), (BASE, "02")])
def test_no_server_at_all_is_started_for_a_change_that_does_not_compile(side: str, first: str) -> None:
    found = told(session({}, broken={side: SLIP}))
    assert found.pop(first) == "failed"
    assert set(found.values()) == {"left out"}


def test_a_bench_at_fault_says_nothing_of_the_change() -> None:
    found = told(session({("baseline", HEAD): TAKEN}))
    assert found["02"] == "started"
    assert found["03"] == found["04"] == "measured"


def test_every_launch_that_was_left_out_names_the_next_step_of_the_one_that_failed() -> None:
    """Tests with one next step are told as one."""
    found = session({(arm, HEAD): CRASHED for arm in ("baseline", ARM, OTHER)})
    head, base, *others = found.values()
    why = did_not_start([head], [base], None)
    assert why is not None
    assert "the base starts" in why.what
    shortfalls = [next(iter(launch_faults(one))) for one in (base, *others)]
    assert {one.do for one in shortfalls} == {why.do}
    assert "not tried: head does not start (01-baseline)" in shortfalls[-1].what


def test_the_base_of_a_head_that_an_unclean_machine_kept_is_not_tried() -> None:
    rig, launches = side_rig(), timed_launches(side_rig())
    finding = Finding(severity="unclean", what="GPU 3 holds 40 GiB", do="end pid 7")
    slate = make_slate(findings=(finding,))
    done = (LaunchEvidence(launch=launches[0], slate=slate),)
    reason = left_out(rig, done, launches[1], broken={}, change_alone=False)
    assert reason is not None
    assert (reason.why, reason.do) == (
        "not tried: 01-baseline was not started, so there is nothing to compare", "end pid 7",
    )  # fmt: skip
    assert left_out(rig, done, launches[2], broken={}, change_alone=False) is None  # it may be clean by now


def test_nothing_is_restarted_beside_a_head_that_does_not_start() -> None:
    found = next_step(side_rig(), tuple(session({(ARM, HEAD): CRASHED}).values()), [])
    assert found == Stop(reason=f"{ARM} does not start on the head of the change: that comes first")


def test_a_restart_that_fails_once_is_no_side_that_does_not_start() -> None:
    launches = session({})
    again = next(iter(launches.values())).launch.model_copy(
        update={"role": "restart", "round": 1, "id": "10-x"}
    )
    later = (*launches.values(), LaunchEvidence(launch=again, failure=CRASHED))
    base = timed_launches(side_rig())[1].model_copy(update={"round": 1, "id": "11-x"})
    assert left_out(side_rig(), later, base, broken={}, change_alone=True) is None
