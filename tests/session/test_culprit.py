from __future__ import annotations

from tests.verdicts.search_evidence import ARM, Machine, run_search, search_rig, unit
from tokgate.records import Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.session.culprit import CulpritSearch
from tokgate.verdicts.checks.culprit import culprit
from tokgate.verdicts.culprit import CulpritTable, culprit_table


def search(machine: Machine, rig: Rig | None = None) -> tuple[Verdict, CulpritTable]:
    rig = rig or search_rig()
    run_search(machine, rig)
    (verdict,) = culprit(rig, machine.searched(), made=machine.sides_made)
    table = culprit_table(rig, machine.searched(), machine.sides_made)
    assert table is not None
    return verdict, table


def test_one_commit_of_six_that_costs_is_named_with_its_files_and_cost() -> None:
    machine = Machine([0, 0, 0, 0, 0.075, 0])
    verdict, table = search(machine)
    (found,) = table.called()
    assert machine.asked[-3:] == ["without-5", "without-5", "base"]
    assert found.units == (machine.units[4],)
    assert found.interval[0] < 0.075 < found.interval[1]
    assert 0.070 < found.cost < 0.080
    assert verdict.outcome is Outcome.REGRESSED
    assert "0505050505 change 5 (python/sglang/srt/part_5.py) costs 7." in verdict.headline
    assert "nothing else in it costs" in verdict.headline
    assert "git show 050505050505" in str(verdict.do)
    assert {p.finding for p in table.parts} == {"costs", "clear"}


def test_the_search_takes_fewer_server_runs_than_every_prefix() -> None:
    machine = Machine([0, 0, 0, 0, 0.075, 0])
    search(machine)
    assert len(machine.launches) < 2 * 7
    assert machine.asked[:4] == ["base", "head", "head", "base"]
    assert machine.asked[-1] == "base", "a drift until the end would not show"
    assert "upto-1" not in machine.asked


def test_a_change_that_costs_nothing_takes_four_server_runs() -> None:
    machine = Machine([0, 0, 0, 0, 0, 0])
    verdict, table = search(machine)
    assert verdict.outcome is Outcome.PASS
    assert len(machine.launches) == 4
    assert [p.finding for p in table.parts] == ["clear"]
    assert "no part of the change costs" in verdict.headline


def test_two_culprits_are_both_named() -> None:
    verdict, table = search(Machine([0.04, 0, 0, 0, 0.05]))
    assert [p.units[0].name for p in table.called()] == ["0505050505 change 5", "0101010101 change 1"]
    assert verdict.outcome is Outcome.REGRESSED


def test_one_that_gains_and_one_that_costs_are_told_apart() -> None:
    verdict, table = search(Machine([-0.05, 0, 0, 0.09]))
    assert [(p.units[0].name, p.finding) for p in table.parts if p.finding != "clear"] == [
        ("0101010101 change 1", "gains"),
        ("0404040404 change 4", "costs"),
    ]
    assert "0101010101 change 1 (python/sglang/srt/part_1.py) gains" in verdict.headline


def test_a_gain_that_hides_a_cost_is_found_where_it_is_asked_for() -> None:
    costs = [-0.06, 0, 0, 0.0566]
    hidden, _ = search(Machine(costs))
    assert hidden.outcome is Outcome.PASS
    assert any("cancel each other within the group" in line for line in hidden.evidence)
    verdict, table = search(Machine(costs), search_rig(inside=True))
    assert [p.units[0].name for p in table.called()] == ["0404040404 change 4"]
    assert verdict.outcome is Outcome.REGRESSED


def test_small_costs_that_add_up_blame_no_single_unit() -> None:
    verdict, table = search(Machine([0.012] * 6))
    assert table.called() == ()
    assert table.spread
    assert verdict.outcome is Outcome.REGRESSED
    assert "no unit of it alone" in verdict.headline


def test_a_part_that_does_not_start_is_searched_around() -> None:
    machine = Machine([0, 0, 0.08, 0], broken=("upto-2",))
    verdict, table = search(machine)
    assert machine.asked.count("upto-2") == 1
    assert "does not start: ImportError" in table.broken["upto-2"]
    (found,) = table.called()
    assert [u.name for u in found.units] == ["0202020202 change 2", "0303030303 change 3"]
    assert "cannot be told apart" in str(verdict.do)


def test_a_patch_that_does_not_apply_without_the_next_is_searched_around() -> None:
    machine = Machine([0, 0, 0, 0.08], unmade=("upto-2",))
    _, table = search(machine)
    assert "does not apply" in table.broken["upto-2"]
    assert [u.name for p in table.called() for u in p.units] == ["0404040404 change 4"]


def test_a_head_that_does_not_start_is_invalid_and_nothing_more_is_started() -> None:
    rig, machine = search_rig(), Machine([0, 0.05], broken=("head",))
    CulpritSearch(
        rig=rig, session=machine, behind=lambda: 4, say=machine.said.append, keep=machine.kept.append
    ).run()
    (verdict,) = culprit(rig, machine.searched(), made=machine.sides_made)
    assert verdict.outcome is Outcome.INVALID
    assert "ImportError" in verdict.headline
    assert machine.asked == ["base", "head"]


def test_what_no_server_imports_is_no_step_of_the_search() -> None:
    docs = unit(2, file="docs/speculative.md")
    machine = Machine([0, 0, 0.08], units=(unit(1), docs, unit(3)))
    _, table = search(machine)
    assert table.inert == (docs,)
    assert "upto-2" not in machine.asked
    assert [u.name for p in table.called() for u in p.units] == ["0303030303 change 3"]


def test_a_budget_that_ends_leaves_it_open_and_says_what_would_settle_it() -> None:
    machine = Machine([0, 0, 0, 0, 0.075, 0])
    verdict, table = search(machine, search_rig(sampling={"gpu_time_s": 130.0}))
    assert len(machine.launches) <= 4 + 2
    assert table.called() == ()
    assert verdict.outcome is Outcome.REGRESSED, "that the change costs is established, only not which part"
    assert "which part of it does is undecided" in verdict.headline
    assert "--rig-set sampling.gpu_time_s=600" in str(verdict.do)
    assert machine.kept[-1].stop


def test_a_machine_that_drifts_names_nobody_for_it() -> None:
    _, table = search(Machine([0, 0, 0, 0], drift=0.004))
    assert table.called() == ()
    assert table.moved > 0.01


def test_restarts_that_differ_by_more_than_the_cost_name_nobody() -> None:
    _, table = search(Machine([0, 0.03, 0, 0], spread=20.0))
    assert table.called() == ()
    assert not table.complete


def test_the_parts_make_up_the_whole() -> None:
    _, table = search(Machine([0.03, -0.04, 0, 0.06]))
    assert abs(table.product - table.whole.cost) < 1e-9


def test_costs_that_add_up_are_told_by_taking_the_unit_out() -> None:
    verdict, table = search(Machine([0, 0.06, 0, 0]))
    (told,) = table.taken_out
    assert told.finding == "adds-up"
    assert told.interval[0] < 0.06 < told.interval[1]
    assert any(
        "taken out of the whole change, 0202020202 change 2 gives back" in line for line in verdict.evidence
    )


def test_costs_that_do_not_add_up_are_said() -> None:
    """The second unit costs 6 % by itself, and the last one makes good for it: without it, the server gains nothing."""
    verdict, table = search(Machine([0, 0.06, 0, 0], company=0.94))
    (told,) = table.taken_out
    assert told.finding == "does-not"
    assert told.difference < -0.03
    assert "costs do not add up" in verdict.headline


def test_a_unit_that_others_build_on_stays_named() -> None:
    verdict, table = search(Machine([0, 0.06, 0, 0], unmade=("without-2",)))
    assert [u.name for p in table.called() for u in p.units] == ["0202020202 change 2"]
    assert "0202020202 change 2" in table.not_taken_out
    assert verdict.outcome is Outcome.REGRESSED


def test_the_last_unit_is_taken_out_by_a_prefix_already() -> None:
    machine = Machine([0, 0, 0, 0.06])
    search(machine)
    assert not any(side.startswith("without") for side in machine.asked)


def test_every_look_is_written_down_before_it_is_measured() -> None:
    machine = Machine([0, 0, 0.06])
    search(machine)
    asked = [name for step in machine.kept for name in step.launches]
    assert asked == [one.launch.id for one in machine.launches]
    assert machine.kept[-1].stop
    assert all(step.reason for step in machine.kept)
    assert asked[0] == f"05-{ARM}-base"


def test_a_stored_run_is_judged_and_nothing_is_started() -> None:
    machine = Machine([0, 0, 0.06])
    verdict, _ = search(machine)
    before = len(machine.launches)
    again = CulpritSearch(
        rig=search_rig(), session=machine, behind=lambda: 99, say=machine.said.append, keep=None
    ).run()
    assert len(machine.launches) == before
    assert culprit(search_rig(), again, made=machine.sides_made) == (verdict,)


def test_a_unit_that_changes_a_package_beside_sglang_is_a_step_of_the_search() -> None:
    beside = unit(2, file="python/sgl_kernel_extra/fast.py")
    machine = Machine([0, 0.08, 0], units=(unit(1), beside, unit(3)))
    machine.sides_made = machine.sides_made.model_copy(
        update={"imported": ("python/sglang/", "python/sgl_kernel_extra/")}
    )
    _, table = search(machine)
    assert table.inert == ()
    assert [u.name for p in table.called() for u in p.units] == ["0202020202 change 2"]
