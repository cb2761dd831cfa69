"""Two sides of a change on a pool: hosts measure together only where their trees are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.session.test_fleet_worker import GROUPS, Scene, fault
from tokgate.errors import SideFault
from tokgate.records.fleet import HostState
from tokgate.records.side import BASE, HEAD, SidesMade, SideState
from tokgate.session.fleet_board import Board
from tokgate.session.fleet_trees import agree, trees_of


def sides(head: str = "h", base: str = "b", **changes: Any) -> SidesMade:
    def side(name: str, tree: str) -> SideState:
        told = {
            "kind": "worktree",
            "root": "/w",
            "source": "/sglang",
            "commit": f"{name}0123456789",
            **changes,
        }
        return SideState(name=name, tree=tree * 20, ref="main", **told)

    return SidesMade(sides=(side(BASE, base), side(HEAD, head)))


def test_a_host_with_the_same_trees_measures_with_the_others(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": [(GROUPS[1], fault(SideFault, "lost"))], "b": []})
    scene.made = {"a": sides(), "b": sides()}
    scene.worker.work()
    assert scene.states[-1] == ("b", "measured")
    assert [tree.name for tree in scene.board.read().trees] == [BASE, HEAD]


def test_a_host_with_another_tree_is_left_out_by_name_and_says_why(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": [], "b": []})
    scene.made = {"a": sides(), "b": sides("x", commit="ffffffffffffff")}
    for number, (board, host) in enumerate(((scene.board, "a"), (Board(tmp_path, "gw1"), "b")), start=1):
        assert board.claim() is not None
        board.show_trees(number, trees_of(scene.made[host]))
    with pytest.raises(SideFault) as caught:
        agree(scene.board, 2, scene.made["b"], spec=None)
    assert "head main (ffffffffff) there, and head main (head012345) on a" in caught.value.found
    assert "bring the same commits and the same working tree to /sglang on every host" in caught.value.do


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"head": "x", "dirty": "d2"}, "what is not committed is something else than on a, c"),
        (
            {"head": "x", "carried": ("sglang/built.so",)},
            "files that no commit holds are on one of them alone: sglang/built.so",
        ),
        ({"head": "x"}, "at the same commit: files that no commit holds differ"),
    ],
)
def test_most_hosts_are_right_and_what_is_known_of_the_difference_is_told(
    tmp_path: Path, other: dict[str, Any], words: str
) -> None:
    scene = Scene(tmp_path, {"b": [], "a": [], "c": []})
    made = {"b": sides(**other), "a": sides(), "c": sides()}
    shifts = [board.claim() for board in (scene.board, Board(tmp_path, "gw1"))]
    for claim in shifts:
        assert claim is not None
    shown = {"b": 1, "a": 2}
    assert scene.board.agreed_trees() is None, "nobody has made any"
    for host, number in shown.items():
        scene.board.show_trees(number, trees_of(made[host]))
    # A third host that has not made its own yet is waited for.
    fleet = scene.board.read()
    third = fleet.shifts[0].model_copy(update={"number": 3, "host": "c", "trees": ()})
    scene.board.write(fleet.model_copy(update={"shifts": (*fleet.shifts, third)}))
    assert scene.board.agreed_trees() is None
    scene.board.show_trees(3, trees_of(made["c"]))
    agree(scene.board, 2, made["a"], spec=None)
    with pytest.raises(SideFault) as caught:
        agree(scene.board, 1, made["b"], spec=None)
    assert words in caught.value.found


def test_installed_packages_that_differ_are_told_as_such(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": [], "b": []})
    installed: dict[str, Any] = {"kind": "copy", "commit": None, "source": "/opt/of me/sglang"}
    for board in (scene.board, Board(tmp_path, "gw1")):
        assert board.claim() is not None
    for number, base in ((1, "b"), (2, "x")):
        scene.board.show_trees(number, trees_of(sides(base=base, **installed)))
    with pytest.raises(SideFault) as caught:
        agree(scene.board, 2, sides(base="x", **installed), spec=None)
    assert "the installed packages have different files" in caught.value.found
    assert caught.value.do.startswith("install the same package on every host")
    assert "cd '/opt/of me/sglang' && find" in caught.value.do


def test_a_worker_leaves_such_a_host_out_and_its_arms_go_on(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": [], "b": [], "c": []})
    scene.made = {"a": sides(), "b": sides("x")}
    claim = Board(tmp_path, "gw1").claim()
    assert claim is not None
    scene.board.show_trees(claim.shift.number, trees_of(sides()))
    other = scene.board.claim()
    assert other is not None
    assert scene.worker._shift(other) is not None
    fleet = scene.board.read()
    assert fleet.host("b").state is HostState.LEFT_OUT
    assert "its trees of SGLang are not theirs" in (fleet.host("b").why or "")
    assert fleet.shifts[-1].side_fault is not None
    assert any("b is left out" in words for words in scene.said)
