"""A checkout that goes away while its change is searched: what is made goes on, what is not made yet says why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hosts.side_trees import change, checkout, commit, git
from tests.session.opened_sides import Open, opened, side, text
from tokgate.errors import SideFault
from tokgate.records.side import BASE, HEAD, SideProof
from tokgate.session.sides import Sides

__all__ = ["opened"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on a branch of their own."""
    folder = checkout(tmp_path / "sglang")
    git(folder, "branch", "base")
    git(folder, "checkout", "-q", "-b", "series")
    for line in (3, 20):
        change(folder, line=line, text=f"line_{line} = 'changed'")
        commit(folder, f"line {line}")
    return folder


def searched(opened: Open, repository: Path) -> Sides:
    return opened(repository=str(repository), base="base", head="series", question="culprit")


def still(sides: Sides, name: str) -> bool:
    """Say whether a side that was made can still be measured and is what it was."""
    proof = SideProof(side=name, root=side(sides, name).root, processes=1)
    return sides.root_of(name) is not None and sides.at_the_end(proof).proven


def test_a_checkout_that_was_deleted(opened: Open, repository: Path) -> None:
    sides = searched(opened, repository)
    shutil.rmtree(repository)
    with pytest.raises(SideFault) as caught:
        sides.make(["upto-1"])
    assert f"the checkout {repository} is not there any more" in caught.value.found
    assert "bring it back to its place and run the same again" in caught.value.do
    assert "go on without it" in caught.value.do
    assert "git:" not in caught.value.found
    assert still(sides, BASE)
    assert still(sides, HEAD)


def test_branches_that_were_moved_or_deleted(opened: Open, repository: Path) -> None:
    sides = searched(opened, repository)
    git(repository, "checkout", "-q", "base")
    git(repository, "branch", "-D", "series")
    change(repository, line=30)
    commit(repository, "the base moves on")
    sides.make(["upto-1"])
    assert "line_3 = 'changed'" in text(sides, "upto-1")
    assert "line_20 = 20" in text(sides, "upto-1")

    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    with pytest.raises(SideFault) as caught:
        sides.make(["without-1"])
    assert f"{repository} has lost objects of the change" in caught.value.found
    assert "keep a branch on both ends" in caught.value.do
    assert still(sides, HEAD)


def test_what_no_commit_holds_and_is_not_there_any_more(opened: Open, repository: Path) -> None:
    """Without it the side would differ from its base in more than the change."""
    sides = searched(opened, repository)
    (repository / "python/sglang/built.so").write_bytes(b"\x7fELF another")
    with pytest.raises(SideFault, match=r"not what it was when the base was made: sglang/built\.so"):
        sides.make(["upto-1"])
    (repository / "python/sglang/built.so").unlink()
    with pytest.raises(SideFault, match=r"is not there any more: sglang/built\.so") as caught:
        sides.make(["upto-1"])
    assert "build what is missing there again" in caught.value.do
