"""Sides of a change on every node of a server: one tree on each, the same on all, and none left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hosts.side_trees import FILE, change, checkout, commit
from tests.session.opened_sides import rig_on
from tokgate.errors import SideFault
from tokgate.hosts.connection import connect
from tokgate.records import Launch
from tokgate.records.side import BASE, HEAD, SidesMade
from tokgate.rig.machine import HostSpec
from tokgate.rig.nodes import NodeRig
from tokgate.session.node_sides import JointSides, sides_on
from tokgate.session.nodes import Node

LAUNCH = Launch(id="01-baseline", arm="baseline", role="control")


def node(rank: int, folder: Path, **spec: Any) -> Node:
    host = HostSpec(work_dir=str(folder / f"work-{rank}"))
    return Node(NodeRig(rank, rig_on(host, **spec)), connect(host))


def joint(*nodes: Node) -> JointSides:
    made = sides_on(nodes, run_id="run", keep=lambda _: None, say=lambda _: None)
    assert isinstance(made, JointSides)
    return made


def left(folder: Path) -> list[Path]:
    return sorted(folder.glob("work-*/sides/*"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = checkout(tmp_path / "sglang")
    change(made)
    commit(made, "a change")
    return made


def test_each_node_starts_from_a_tree_of_its_own(tmp_path: Path, repository: Path) -> None:
    spec = {"repository": str(repository), "base": "HEAD~1", "head": "HEAD"}
    sides = joint(node(0, tmp_path, **spec), node(1, tmp_path, **spec))
    try:
        sides.open()
        roots = [sides.of(rank).root_of(HEAD) for rank in (0, 1)]
        assert [str(tmp_path / f"work-{rank}") in str(root) for rank, root in enumerate(roots)] == [
            True,
            True,
        ]
        equip = sides.of(1).equip(LAUNCH, None)
        assert equip is not None
        assert equip("there").python_path == (roots[1],)
        trees = [_tree(sides.of(rank).made, name) for name in (BASE, HEAD) for rank in (0, 1)]
        assert trees[0] == trees[1] != trees[2] == trees[3]
    finally:
        sides.close()
    assert left(tmp_path) == []


def test_a_node_with_another_tree_ends_the_session(tmp_path: Path, repository: Path) -> None:
    other = checkout(tmp_path / "other")
    (other / FILE).write_text((other / FILE).read_text() + "\nANOTHER = 1\n")
    commit(other, "another change")
    spec = {"base": "HEAD~1", "head": "HEAD"}
    sides = joint(
        node(0, tmp_path, repository=str(repository), **spec),
        node(1, tmp_path, repository=str(other), **spec),
    )
    try:
        with pytest.raises(SideFault, match=r"head on node 1 \(local\)") as refused:
            sides.open()
        assert "another tree than on node 0" in refused.value.found
    finally:
        sides.close()
    assert left(tmp_path) == []


def _tree(made: SidesMade | None, name: str) -> str:
    state = made.side(name) if made is not None else None
    assert state is not None
    return state.tree
