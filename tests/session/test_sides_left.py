"""A checkout that sides are made of stays byte for byte as it was, and nothing of them stays on the host."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hosts.side_trees import change, git, state_of
from tokgate.errors import SideFault
from tokgate.hosts.connection import connect
from tokgate.records.side import BASE
from tokgate.rig.machine import HostSpec
from tokgate.session.sides import Sides

from .opened_sides import Open, opened, repository, rig_on

__all__ = ["opened", "repository"]


def test_a_checkout_is_byte_for_byte_as_it_was(opened: Open, repository: Path) -> None:
    change(repository)
    git(repository, "stash")
    change(repository, line=8)
    git(repository, "add", "-A")
    change(repository, line=9)
    hook = repository / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {repository}/hooked\n")
    hook.chmod(0o755)
    git(repository, "update-index", "-q", "--refresh", check=False)
    before = state_of(repository)

    sides = opened(repository=str(repository), base="HEAD")
    sides.make(["upto-1"])
    assert state_of(repository) == before
    sides.close()
    with pytest.raises(SideFault):
        opened(repository=str(repository), base="nowhere")

    assert state_of(repository) == before
    assert git(repository, "worktree", "list").count("\n") == 1


def test_what_a_killed_gate_left_is_removed_by_the_next_one(
    opened: Open, repository: Path, tmp_path: Path
) -> None:
    change(repository)
    before = state_of(repository)
    host = HostSpec(work_dir=str(tmp_path / "work"))
    killed = Sides(
        connect(host),
        rig_on(host, repository=str(repository), base="HEAD"),
        run_id="killed",
        keep=lambda _: None,
        say=print,
    )
    killed.open()
    parent = tmp_path / "work" / "sides"
    (left,) = parent.iterdir()
    # A server of it may have made folders that nobody can enter, and links that lead anywhere.
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "kept").touch()
    (left / "closed").mkdir(mode=0o000)
    (left / "trees" / "out").symlink_to(treasure)
    (parent / "a-link").symlink_to(treasure)
    (parent / "somebody's").mkdir()

    said: list[str] = []
    nextone = Sides(connect(host), rig_on(host), run_id="next", keep=lambda _: None, say=said.append)
    nextone.open()

    assert not left.exists()
    assert (treasure / "kept").exists()
    assert (parent / "somebody's").exists()
    assert any(left.name in line and "killed gate" in line for line in said)
    assert any("a-link" in line and "was left" in line for line in said)
    assert state_of(repository) == before
    (parent / "a-link").unlink()
    (parent / "somebody's").rmdir()


def test_a_tree_that_processes_still_run_from_is_left(repository: Path, tmp_path: Path) -> None:
    change(repository)
    host = HostSpec(work_dir=str(tmp_path / "work"))
    rig = rig_on(host, repository=str(repository), base="HEAD")
    killed = Sides(connect(host), rig, run_id="killed", keep=lambda _: None, say=print)
    killed.open()
    root = killed.root_of(BASE)
    assert root is not None
    said: list[str] = []
    later = Sides(connect(host), rig_on(host), run_id="next", keep=lambda _: None, say=said.append)
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "PYTHONPATH": root}) as server:
        later.open()
        server.kill()
    assert Path(root).exists()
    assert f"processes still run from it: {server.pid}" in said[0]
    later.open()
    assert not Path(root).exists()
