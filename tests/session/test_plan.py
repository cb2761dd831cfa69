from __future__ import annotations

from tests.session.rigs import small_rig
from tokgate.session.plan import batches_of, describe, plan_launches, workloads_of


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


def test_the_description_counts_what_will_really_be_done() -> None:
    rig = small_rig()
    done = sum(
        len(batch.indexes)
        for launch in plan_launches(rig)
        for workload in workloads_of(rig, launch)
        for batch in batches_of(workload)
    )
    assert f"{done} generations" in "\n".join(describe(rig))
    assert "4 server launches" in describe(rig)[0]
