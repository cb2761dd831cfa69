from __future__ import annotations

from tests.rig.test_sweep import sweep_rig
from tokgate.rig.models import Rig
from tokgate.session.plan import batches_of, plan_launches, rig_for, workloads_of
from tokgate.session.sweep_plan import describe_sweep, sweep_launches


def test_the_control_arm_brackets_the_settings_behind_everything_else() -> None:
    launches = sweep_launches(sweep_rig())
    assert [(e.id.partition("-")[2], e.arm, e.role) for e in launches] == [
        ("sweep-control", "baseline", "sweep-control"),
        ("sweep-s1-k1-t2", "eagle3-2step", "sweep"),
        ("sweep-s2-k1-t3", "eagle3-2step", "sweep"),
        ("sweep-s3-k1-t4", "eagle3-2step", "sweep"),
        ("sweep-control-again", "baseline", "sweep-control"),
    ]
    numbers = [int(e.id.partition("-")[0]) for e in launches]
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert numbers[0] > max(int(e.id.partition("-")[0]) for e in plan_launches(sweep_rig()))


def test_none_of_them_stands_for_an_arm_as_written() -> None:
    assert not any(e.stands_for_arm for e in sweep_launches(sweep_rig()))


def test_without_a_sweep_there_is_nothing_to_launch_or_to_say() -> None:
    rig = sweep_rig().model_copy(update={"sweep": None})
    assert sweep_launches(rig) == ()
    assert describe_sweep(rig) == ()


def test_each_launch_takes_the_timed_workloads_and_no_more() -> None:
    rig = sweep_rig(workloads=("single",), repeats=7)
    for launch in sweep_launches(rig):
        own = rig_for(rig, launch)
        assert [(w.name, w.repeats) for w in workloads_of(own, launch)] == [("single", 7)]


def test_the_description_counts_what_will_be_done() -> None:
    rig = sweep_rig(topk=(1, 4), num_draft_tokens=(8,))
    done = sum(
        len(batch.indexes)
        for launch in sweep_launches(rig)
        for workload in workloads_of(rig_for(rig, launch), launch)
        for batch in batches_of(workload)
    )
    told = "\n".join(describe_sweep(rig))
    assert f"{len(sweep_launches(rig))} server launches, {done} generations (single, pair)" in told
    assert "2 steps (as written)" in told
    assert "sweep without 1 step, topk 4, 8 tokens: so small a tree has at most 5 tokens" in told


def test_too_few_starts_for_so_many_settings_are_told_beforehand() -> None:
    def told(rig: Rig) -> str:
        return "\n".join(describe_sweep(rig))

    # Three settings make two comparisons at 97.5 %: 2 / C(2n, n) is at most 0.025 from n = 5 on.
    few = sweep_rig(workloads=("single",), repeats=4)
    assert "4 starts establish nothing among 3 settings: 5 are needed" in told(few)
    assert "establish nothing" not in told(sweep_rig(workloads=("single",), repeats=5))
