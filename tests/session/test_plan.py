from __future__ import annotations

from tests.session.rigs import small_rig
from tokgate.rig.models import Rig
from tokgate.session.plan import (
    batches_of,
    describe_phases,
    instrumented_launches,
    off_launch,
    plan_launches,
    proof_launch,
    rig_for,
    workloads_of,
)


def test_the_control_arm_brackets_the_others_and_each_arm_is_launched_once() -> None:
    launches = plan_launches(small_rig())
    assert [(launch.id, launch.arm, launch.role) for launch in launches] == [
        ("01-baseline", "baseline", "control"),
        ("02-eagle3-2step", "eagle3-2step", "arm"),
        ("03-eagle3-pinned", "eagle3-pinned", "arm"),
        ("04-baseline-again", "baseline", "control-again"),
    ]


def test_a_rig_without_speculation_needs_no_second_control() -> None:
    rig = small_rig()
    alone = rig.model_copy(update={"arms": (rig.control,)})
    assert [launch.id for launch in plan_launches(alone)] == ["01-baseline"]


def test_the_same_index_is_the_same_prompt_in_every_launch() -> None:
    rig = small_rig()
    plans = {
        launch.id: [batch.indexes for batch in batches_of(rig.workload("conc4"))]
        for launch in plan_launches(rig)
    }
    assert set(map(tuple, plans.values())) == {((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))}


def test_warm_up_comes_first_and_is_marked() -> None:
    marks = [batch.warmup for batch in batches_of(small_rig().workload("single"))]
    assert marks == [True, False, False, False, False, False]


def test_outputs_are_compared_only_where_they_mean_something() -> None:
    rig = small_rig()
    with_lossless = [
        launch.id
        for launch in plan_launches(rig)
        if any(w.name == "lossless" for w in workloads_of(rig, launch))
    ]
    assert with_lossless == ["01-baseline", "02-eagle3-2step"]


def nccl_rig(*, gpus: int = 8, block: dict[str, str] | None = None, skip: str | None = None) -> Rig:
    plain = small_rig().model_dump(mode="json")
    plain["gpus"]["count"] = gpus
    plain["server"]["nccl"] = {"NCCL_PROTO": "LL"} if block is None else block
    plain["nccl_proof"] = {"skip": skip}
    return Rig.model_validate(plain)


def test_the_proof_comes_first_and_the_launch_without_the_block_last() -> None:
    rig = nccl_rig()
    proof, off = proof_launch(rig), off_launch(rig)
    assert proof is not None
    assert off is not None
    assert (proof.id, proof.arm, off.id, off.arm) == ("00-nccl-proof", "baseline", "05-nccl-off", "baseline")
    assert min([off.id, *(launch.id for launch in plan_launches(rig)), proof.id]) == proof.id


def test_neither_is_among_the_launches_that_are_judged_as_the_arm() -> None:
    rig = nccl_rig()
    assert plan_launches(rig) == plan_launches(small_rig())
    assert all(launch.stands_for_arm for launch in plan_launches(rig))
    proof, off = proof_launch(rig), off_launch(rig)
    assert proof is not None
    assert off is not None
    assert not proof.stands_for_arm
    assert not off.stands_for_arm


def test_a_rig_that_has_no_nccl_plans_what_it_always_did() -> None:
    for rig in (small_rig(), nccl_rig(gpus=0), nccl_rig(gpus=1), nccl_rig(block={})):
        assert (proof_launch(rig), off_launch(rig)) == (None, None)


def test_a_proof_start_may_be_left_out_alone() -> None:
    rig = nccl_rig(skip="500 GB of weights")
    assert proof_launch(rig) is None
    assert off_launch(rig) is not None


def test_a_proof_takes_no_workload_and_the_launch_without_the_block_the_timed_ones() -> None:
    rig = nccl_rig()
    proof, off = proof_launch(rig), off_launch(rig)
    assert proof is not None
    assert off is not None
    assert workloads_of(rig, proof) == ()
    assert [w.name for w in workloads_of(rig, off)] == ["single", "conc4"]


def test_only_the_launch_without_the_block_runs_by_another_rig() -> None:
    rig = nccl_rig()
    proof, off = proof_launch(rig), off_launch(rig)
    assert proof is not None
    assert off is not None
    assert rig_for(rig, off).server.nccl == {}
    assert rig.server.nccl == {"NCCL_PROTO": "LL"}
    for launch in (proof, *plan_launches(rig)):
        assert rig_for(rig, launch) == rig


def instrumented_rig(**instruments: object) -> Rig:
    return Rig.model_validate(small_rig().model_dump(mode="json") | {"instruments": instruments})


def test_each_arm_that_speculates_carries_instruments_once_behind_all_that_is_timed() -> None:
    assert [(x.id, x.arm, x.role) for x in instrumented_launches(small_rig())] == [
        ("05-eagle3-2step-phases", "eagle3-2step", "instrumented"),
        ("06-eagle3-pinned-phases", "eagle3-pinned", "instrumented"),
    ]
    with_nccl = nccl_rig()
    off = off_launch(with_nccl)
    assert off is not None
    assert min(x.id for x in instrumented_launches(with_nccl)) > off.id


def test_no_number_of_theirs_is_one_of_the_arm() -> None:
    assert not [x for x in instrumented_launches(small_rig()) if x.stands_for_arm]
    assert not set(instrumented_launches(small_rig())) & set(plan_launches(small_rig()))


def test_they_take_the_timed_workloads_as_often_as_the_rig_allows() -> None:
    launch = instrumented_launches(small_rig())[0]
    assert workloads_of(small_rig(), launch) == small_rig().workloads
    few = rig_for(instrumented_rig(repeats=3), launch)
    assert [w.repeats for w in workloads_of(few, launch)] == [3, 2]


def test_they_take_the_workloads_that_the_rig_names_and_it_is_said_beforehand() -> None:
    rig = instrumented_rig(workloads=["conc4"], repeats=2, trace=False)
    launch = instrumented_launches(rig)[0]
    assert [w.name for w in workloads_of(rig_for(rig, launch), launch)] == ["conc4"]
    assert describe_phases(rig) == "phases: conc4; 2 pairs of starts with the probe on and off"
    said = describe_phases(instrumented_rig(cost_pairs=8))
    assert said.endswith("single, conc4; 8 pairs of starts with the probe on and off; a trace of a few steps")
    assert "no pair without the probe" in describe_phases(instrumented_rig(cost_pairs=0))


def test_the_control_arm_carries_them_last_where_the_rig_says_so() -> None:
    found = instrumented_launches(instrumented_rig(control=True))
    assert [(x.id, x.arm) for x in found] == [
        ("05-eagle3-2step-phases", "eagle3-2step"),
        ("06-eagle3-pinned-phases", "eagle3-pinned"),
        ("07-baseline-phases", "baseline"),
    ]
    assert not [x for x in found if x.stands_for_arm]


def test_they_are_left_out_for_a_reason_that_is_printed() -> None:
    rig = instrumented_rig(skip="500 GB of weights")
    assert instrumented_launches(rig) == ()
    assert "since 500 GB of weights: nothing is promised on phases" in describe_phases(rig)
