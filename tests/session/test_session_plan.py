"""What is told before a session: the launches that this selection makes, and how long they are likely to take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rig.test_sweep import sweep_rig
from tests.session.rigs import small_rig
from tests.session.test_plan import instrumented_rig, nccl_rig
from tokgate.records.progress import SessionPlan
from tokgate.rig.models import Rig
from tokgate.session.alike import Alike
from tokgate.session.pace import Pace, Rate
from tokgate.session.plan import batches_of, plan_launches, workloads_of
from tokgate.session.preamble import possible_launches
from tokgate.session.session_plan import session_plan
from tokgate.session.usual import usual_around
from tokgate.verdicts.baselines.spent import LaunchSpent, SessionSpent, StartSpent

TIMED = ["01-baseline", "02-eagle3-2step", "03-eagle3-pinned", "04-baseline-again"]


def planned(rig: Rig, launches: list[str], pace: Pace | None = None, **more: Any) -> SessionPlan:
    return session_plan(rig, launches, pace or Pace(rig), **{"samples": True, **more})


def session(seconds: float, *, rest: float = 10.0, besides: float = 4.0) -> SessionSpent:
    """Return a session in which every barrier start of every workload took so long."""
    starts = {
        "single": StartSpent(seconds=seconds, tokens=16),
        "conc4": StartSpent(seconds=seconds, tokens=8),
        "lossless": StartSpent(seconds=seconds, tokens=8),
    }
    spent = LaunchSpent(wall_s=99.0, rest_s=rest, starts=starts)
    return SessionSpent(launches=dict.fromkeys(TIMED, spent), besides_s=besides)


def test_what_will_really_be_done_is_counted() -> None:
    rig = small_rig()
    plan = planned(rig, TIMED)
    assert [launch.launch for launch in plan.launches] == TIMED
    for launch, told in zip(plan_launches(rig), plan.launches, strict=True):
        made = {w.name: sum(len(b.indexes) for b in batches_of(w)) for w in workloads_of(rig, launch)}
        assert {w.workload: w.generations for w in told.work} == made


def test_starts_that_tell_what_the_probe_costs_are_counted_under_their_own_name() -> None:
    rig = instrumented_rig(cost_pairs=8, workloads=["single"])
    (launch,) = planned(rig, ["05-eagle3-2step-phases"]).launches
    # One warm-up and five judged starts; eight with the probe off, three more with it on to make eight.
    assert {w.workload: w.generations for w in launch.work} == {"single": 6, "probe-off": 8, "probe-on": 3}


def test_what_the_rig_has_and_this_selection_does_not_ask_for_is_left_out_with_what_takes_it_in() -> None:
    told = planned(nccl_rig(), ["01-baseline"]).left_out
    assert "00-nccl-proof (-m eagle3 or nccl)" in told
    assert any(name.endswith("-nccl-off (-m nccl)") for name in told)
    swept = sweep_rig()
    everything = [launch.id for launch in possible_launches(swept)]
    assert planned(swept, everything).left_out == ()
    of_sweep = sum("sweep" in name for name in everything)
    assert planned(swept, ["01-baseline"]).left_out[-1] == f"a sweep's {of_sweep} launches (-m sweep)"


def test_a_plan_by_earlier_sessions_has_their_middle_and_their_range() -> None:
    rig = small_rig()
    rig = rig.model_copy(update={"sampling": rig.sampling.model_copy(update={"gpu_time_s": 0.0})})
    pace = Pace(rig, sessions=(session(1.0), session(2.0), session(4.0)), last="2026-11-29T10:00:00+00:00")
    plan = planned(rig, ["01-baseline"], pace)
    starts = sum(len(batches_of(w)) for w in workloads_of(rig, plan_launches(rig)[0]))
    (launch,) = plan.launches
    assert (launch.seconds.low, launch.seconds.likely, launch.seconds.high) == (
        10.0 + starts,
        10.0 + 2 * starts,
        10.0 + 4 * starts,
    )
    assert plan.seconds.likely == 14.0 + 2 * starts  # and what a session takes beside its launches
    assert plan.basis == "from 3 sessions of this rig, the last of 2026-11-29"


def test_extra_starts_that_a_launch_may_take_widen_the_range_upwards_alone() -> None:
    rig = small_rig()
    pace = Pace(rig, sessions=(session(1.0),), last="2026-11-29")
    with_them = planned(rig, ["01-baseline"], pace).launches[0].seconds
    assert with_them.low == with_them.likely
    assert with_them.high > with_them.low


def test_another_length_of_answers_is_reckoned_in() -> None:
    rig = small_rig()
    longer = rig.model_copy(
        update={
            "workloads": tuple(
                w.model_copy(update={"output_tokens": 2 * w.output_tokens}) for w in rig.workloads
            )
        }
    )
    seconds = [
        planned(one, ["04-baseline-again"], Pace(one, sessions=(session(1.0),), last="2026-11-29")).launches[
            0
        ]
        for one in (rig, longer)
    ]
    assert seconds[1].taking_s == 2 * (seconds[0].taking_s or 0.0)


def test_before_a_first_session_a_plan_has_what_is_usual_and_what_the_rig_allows() -> None:
    rig = small_rig()
    pace = Pace(
        rig,
        rates={("baseline", "single"): Rate(15.0, 0.5), ("baseline", "conc4"): Rate(7.0)},
        rates_from="stored baselines",
    )
    plan = planned(rig, ["04-baseline-again"], pace)
    (launch,) = plan.launches
    assert launch.taking_s == pytest.approx(6 * (0.5 + 1.0) + 3 * 1.0)
    assert launch.seconds.likely is None
    usual = usual_around(rig)
    taking = launch.taking_s or 0.0
    assert launch.seconds.low == usual.low + taking
    assert usual.high + taking <= launch.seconds.high < rig.server.start_timeout_s
    assert launch.seconds.limit is not None
    assert launch.seconds.limit > rig.server.start_timeout_s + rig.server.stop_timeout_s
    assert plan.basis.startswith(f"speed from stored baselines; {usual.words}")
    assert plan.seconds.limit is not None
    unknown = planned(rig, ["04-baseline-again"])
    assert unknown.seconds.low < plan.seconds.low < plan.seconds.high < unknown.seconds.high
    assert unknown.seconds.high < (unknown.seconds.limit or 0.0)
    assert unknown.basis.startswith("streams assumed to make 10 to 80 tok/s; ")


def test_no_estimate_goes_beyond_what_the_rig_allows() -> None:
    rig = small_rig()
    short = rig.server.model_copy(update={"start_timeout_s": 2.0, "stop_timeout_s": 1.0})
    hasty = rig.model_copy(update={"server": short, "gpus": rig.gpus.model_copy(update={"wait_s": 1.0})})
    (launch,) = planned(hasty, ["04-baseline-again"]).launches
    assert launch.seconds.low <= launch.seconds.high <= (launch.seconds.limit or 0.0)


def test_sessions_of_another_rig_with_the_same_server_tell_how_long_it_starts() -> None:
    rig = small_rig()
    alike = Alike(("other",), (session(9.0, rest=30.0), session(9.0, rest=40.0)))
    rates = {("baseline", "single"): Rate(15.0), ("baseline", "conc4"): Rate(7.0)}
    pace = Pace(rig, rates=rates, rates_from="stored baselines", alike=alike)
    plan = planned(rig, ["04-baseline-again"], pace)
    (launch,) = plan.launches
    assert (launch.seconds.likely, launch.seconds.limit) == (35.0 + (launch.taking_s or 0.0), None)
    assert "sessions of other: the same model on this host" in plan.basis


def test_gpu_time_is_of_launches_alone_times_gpus() -> None:
    rig = nccl_rig()
    pace = Pace(rig, sessions=(session(1.0, besides=1000.0),), last="2026-11-29")
    plan = planned(rig, ["01-baseline"], pace)
    assert plan.gpu_seconds.likely == rig.gpus.count * (plan.launches[0].seconds.likely or 0.0)


def test_what_restarts_may_add_is_told_and_what_comes_in_any_case_is_counted() -> None:
    rig = small_rig()
    assert rig.sampling.gpu_time_s == 600
    pace = Pace(rig, sessions=(session(1.0, rest=195.0),), last="2026-11-29")
    plan = planned(rig, TIMED, pace)
    assert plan.restarts is not None
    assert (plan.restarts.least, plan.restarts.most, plan.restarts.most_s) == (0, 2, 600.0)
    assert planned(rig, TIMED, pace, samples=False).restarts is None

    off = rig.model_copy(update={"sampling": rig.sampling.model_copy(update={"gpu_time_s": 0.0})})
    told = planned(off, TIMED, pace)
    assert told.restarts is None
    assert any("sampling.gpu_time_s is 0" in line for line in told.details)

    sure = rig.model_copy(update={"sampling": rig.sampling.model_copy(update={"least_restarts": 1})})
    counted = planned(sure, TIMED, pace)
    assert counted.restarts is not None
    assert counted.restarts.least == 3  # one of each EAGLE-3 arm, and a control that closes the round
    assert (counted.seconds.likely or 0) - (plan.seconds.likely or 0) == pytest.approx(
        counted.restarts.least_s
    )


def test_a_selection_without_a_server_has_nothing_to_launch() -> None:
    assert planned(small_rig(), []).launches == ()
