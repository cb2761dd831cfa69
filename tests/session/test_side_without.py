"""The head of a change without one of its units, which shows whether what the unit costs is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.side_trees import change, checkout, commit, git
from tests.session.opened_sides import Open, opened, side, text
from tokgate.errors import SideFault

__all__ = ["opened"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three commits: lines 3 and 30 of a file, then line 3 once more."""
    folder = checkout(tmp_path / "sglang")
    git(folder, "tag", "good")
    for line, words in ((3, "first = 1"), (30, "second = 2"), (3, "third = 3")):
        change(folder, line=line, text=words)
        commit(folder, words)
    return folder


def test_all_but_one_unit_is_there(opened: Open, repository: Path) -> None:
    sides = opened(repository=str(repository), base="good", head="HEAD", question="culprit")
    sides.make(["without-2"])
    made = text(sides, "without-2")
    assert "third = 3" in made
    assert "second = 2" not in made
    assert [unit.name.partition(" ")[2] for unit in side(sides, "without-2").units] == [
        "first = 1",
        "third = 3",
    ]
    assert side(sides, "without-2").tree != side(sides, "head").tree


def test_a_unit_that_later_ones_build_on_stays(opened: Open, repository: Path) -> None:
    sides = opened(repository=str(repository), base="good", head="HEAD", question="culprit")
    with pytest.raises(SideFault, match="later steps build on it"):
        sides.make(["without-1"])
