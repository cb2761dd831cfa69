"""Both sides of a change of SGLang on a pool of hosts: a host with another tree is left out, the others answer together."""

from __future__ import annotations

import pytest

from .change_stories import WORKER, Changed

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_a_host_with_another_tree_is_left_out_by_name_with_both_commits(changed: Changed) -> None:
    host = changed.run.host("b")
    assert host["state"] == "left out", changed.run.said
    assert "its trees of SGLang are not theirs: " in host["why"]
    assert "there, and head HEAD (" in host["why"]
    assert "bring the same commits to " in host["do"]
    assert [shift["measured"] for shift in changed.run.shifts("b")] == [[]], "nothing of it was measured"
    assert "b is left out: its trees of SGLang" in changed.run.said


def test_both_sides_of_an_arm_ran_on_one_host_from_the_same_trees(changed: Changed) -> None:
    launches = changed.run.verdict["launches"]
    sides = {(one["arm"], one["side"], one["host"]) for one in launches}
    assert sides == {
        (f"{arm}@{host}", side, host)
        for host, arms in (("a", changed.of("a")), ("c", changed.of("c")))
        for arm in ("baseline", *arms)
        for side in ("head", "base")
    }
    trees = {str(shift["trees"]) for host in "ac" for shift in changed.run.shifts(host)}
    assert len(trees) == 1


def test_the_run_answers_for_every_arm_and_may_not_merge(changed: Changed) -> None:
    assert changed.run.code == 13, changed.run.said
    answers = {
        row["arm"]: (row["outcome"], sorted(row["hosts"])) for row in changed.run.verdict["fleet"]["changes"]
    }
    assert {arm: outcome for arm, (outcome, _) in answers.items()} == {
        "arm-1": "regressed", "arm-2": "regressed", "baseline": "pass",
    }  # fmt: skip
    assert answers["baseline"][1] == ["a", "c"], "the control arm has both sides on each host"
    patch = changed.run.verdict["patch"]
    assert patch["patch"]["words"].startswith("yes: decode -")
    assert next(one for one in patch["sides"] if one["name"] == "head")["changed"] == [WORKER]
    assert "may it merge? No: the server is slower with the change than without" in changed.run.told
    assert "Slower than its base, arm by arm" in (changed.run.folder / "report.html").read_text()
    assert "Slower than its base, arm by arm" in (changed.run.folder / "summary.md").read_text()


def test_each_hosts_base_is_held_against_the_others(changed: Changed) -> None:
    rows = {row["arm"]: row["spread"]["hosts"] for row in changed.run.verdict["fleet"]["spread"]}
    assert rows["baseline"] == rows["baseline+base"] == 2


def test_its_folder_alone_says_the_same(changed: Changed) -> None:
    assert changed.again.code == changed.run.code, changed.again.said


def test_no_tree_no_process_and_no_lease_is_left_on_any_host(changed: Changed) -> None:
    assert changed.left == {}
    assert changed.sides_left == []
