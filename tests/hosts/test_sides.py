"""Trees as they are made on a host: what is a source, what was written to since; the same behind ssh."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hosts.side_sessions import made, proof_of, sides_on
from tests.hosts.side_trees import FILE, change, checkout, commit, git, state_of
from tests.sshd import Sshd
from tokgate.errors import SideFault
from tokgate.hosts.scripts.parts.tree_files import MOST_BYTES
from tokgate.records.side import HEAD
from tokgate.rig.machine import HostSpec
from tokgate.rig.sides import SidesSpec


def test_a_tree_that_is_written_to_is_not_what_was_made(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    change(repository)
    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        head = made(sides).sides[1]
        assert sides.at_the_end(proof_of(HEAD, head.root)).proven
        (Path(head.root) / "sglang/srt/worker.py").write_text("other = 1\n")
        later = sides.at_the_end(proof_of(HEAD, head.root))
        assert not later.proven
        assert "is not what it was when it was made" in later.why[0]
    finally:
        sides.close()


def test_what_is_no_source_is_not_taken_for_one(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    with (repository / "python/sglang/giant.bin").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    os.mkfifo(repository / "python/sglang/pipe.py")
    (repository / "python/sglang/inner").mkdir()
    git(repository / "python/sglang/inner", "init", "-q")
    (repository / "python/sglang/inner/x.py").write_text("x = 1\n")
    change(repository)

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    sides.close()

    assert made(sides).sides[1].changed == (FILE,)
    notes = " ".join(made(sides).notes)
    assert "giant.bin" in notes
    assert "python/sglang/inner/ is a repository of its own" in notes


@pytest.mark.sshd
def test_behind_ssh_it_is_the_same(sshd: Sshd, tmp_path: Path) -> None:
    repository = checkout(tmp_path / 'it\'s a "tree" $(x)')
    change(repository)
    commit(repository, "second")
    change(repository, line=20)
    before = state_of(repository)
    spec = sshd.spec(work_dir=str(tmp_path / "work"))
    killed = sides_on(spec, SidesSpec(repository=str(repository), base="HEAD~1"))
    killed.open()
    sides = sides_on(spec, SidesSpec(repository=str(repository), base="HEAD~1"))

    sides.open()
    root = sides.root_of("upto-1")

    assert root is not None
    assert "changed = True" in (Path(root) / "sglang/srt/worker.py").read_text()
    assert not Path(made(killed).sides[0].root).exists()
    sides.close()
    assert not (tmp_path / "work/sides").exists()
    assert state_of(repository) == before
    with pytest.raises(SideFault, match="no such folder on the host"):
        sides_on(spec, SidesSpec(repository="/nowhere", base="HEAD")).open()
