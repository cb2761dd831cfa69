"""Links of a tree: what leads out of it, what a side only links to, submodules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.side_sessions import made, proof_of, sides_on
from tests.hosts.side_trees import FILE, change, checkout, commit, git, state_of
from tokgate.errors import SideFault
from tokgate.hosts.scripts.parts.brought import MOST_COPIED
from tokgate.records.side import HEAD
from tokgate.rig.machine import HostSpec
from tokgate.rig.sides import SidesSpec


def linked(folder: Path, treasure: Path) -> Path:
    """Make a checkout, committed, with links to data outside of it, one of them a tracked folder that has become one."""
    repository = checkout(folder)
    package = repository / "python/sglang"
    (treasure / "data.bin").write_bytes(b"of somebody else")
    (package / "built2.so").symlink_to(treasure / "data.bin")
    (package / "up.json").symlink_to("../../../treasure/data.bin")
    return repository


def test_nothing_outside_is_read_through_a_link_or_removed(
    here: HostSpec, tmp_path: Path, treasure: Path
) -> None:
    (treasure / "secret.py").unlink()
    repository = linked(tmp_path / "sglang", treasure)
    package = repository / "python/sglang"
    # A tracked folder that has become a link: its files are gone, as far as git is concerned.
    (package / "test/test_worker.py").unlink()
    (package / "test").rmdir()
    (package / "test").symlink_to(treasure)
    change(repository)
    held = state_of(treasure)

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    head = sides.made.side(HEAD) if sides.made else None
    assert head is not None
    tree = Path(head.root) / "sglang"
    assert (tree / "up.json").is_symlink()
    assert (tree / "test").is_symlink()
    # Hashed is where a link leads, not what lies there.
    (treasure / "data.bin").write_text("another")
    assert sides.at_the_end(proof_of(head.name, head.root)).tree == head.tree
    (treasure / "data.bin").write_bytes(b"of somebody else")
    sides.close()

    assert not Path(head.root).exists()
    assert [line.split()[0] for line in state_of(treasure).splitlines()] == [
        line.split()[0] for line in held.splitlines()
    ]
    assert (treasure / "data.bin").read_bytes() == b"of somebody else"
    (told,) = [note for note in made(sides).notes if "links out of the tree" in note]
    assert f"python/sglang/test -> {treasure}" in told


def test_links_out_of_the_tree_that_are_committed_are_told(
    here: HostSpec, tmp_path: Path, treasure: Path
) -> None:
    repository = linked(tmp_path / "sglang", treasure)
    (repository / "python/sglang/inside.md").symlink_to("../../README.md")
    (repository / "python/sglang/srt/old.py").symlink_to(treasure / "secret.py")
    git(repository, "add", "-f", "-A")
    commit(repository, "links")
    change(repository)
    commit(repository, "a change of something else")

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD~1", head="HEAD"))
    sides.open()
    sides.close()

    (told,) = [note for note in made(sides).notes if "links out of the tree" in note]
    for name, target in (
        ("built2.so", treasure / "data.bin"),
        ("up.json", "../../../treasure/data.bin"),
        ("srt/old.py", treasure / "secret.py"),
    ):
        assert f"python/sglang/{name} -> {target}" in told
    assert "inside.md" not in told


@pytest.mark.parametrize(
    ("name", "target", "committed"),
    [
        ("python/sglang/srt/new.py", "secret.py", True),
        ("python/sglang/srt/parts", "", False),
        ("python/extra", "", True),
    ],
)
def test_a_change_whose_sources_lie_outside_of_the_tree_is_refused(
    here: HostSpec, tmp_path: Path, treasure: Path, name: str, target: str, *, committed: bool
) -> None:
    repository = checkout(tmp_path / "sglang")
    (repository / name).symlink_to(treasure / target)
    change(repository)
    head = commit(repository, "a link out of the tree") if committed else None
    base = "HEAD~1" if committed else "HEAD"
    with pytest.raises(SideFault, match=f"links out of the tree stand for sources: {name} -> {treasure}"):
        sides_on(here, SidesSpec(repository=str(repository), base=base, head=head)).open()


def test_submodules_stay_closed_but_for_those_of_the_package(
    here: HostSpec, tmp_path: Path, canary: Path
) -> None:
    """Asked for its state, git would run what a submodule's own config names."""
    inner = checkout(tmp_path / "inner")
    repository = checkout(tmp_path / "sglang")
    allowed = ("-c", "protocol.file.allow=always")
    for place in ("3rdparty/inner", "python/sglang/inner"):
        git(repository, *allowed, "submodule", "add", "-q", str(inner), place)
        config = repository / ".git/modules" / place / "config"
        git(repository, "config", "-f", str(config), "core.fsmonitor", f"{canary} submodule")
        (repository / place / "dirty.py").write_text("dirty = True\n")
    commit(repository, "submodules")
    for file in (tmp_path / "sang").iterdir():
        file.unlink()
    change(repository)
    before = state_of(repository)

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        assert made(sides).sides[1].changed == (FILE,)
        for side in made(sides).sides:
            assert "sglang/inner" in side.carried
            assert (Path(side.root) / "sglang/inner/README.md").exists()
    finally:
        sides.close()
    assert list((tmp_path / "sang").iterdir()) == []
    assert state_of(repository) == before

    git(repository, "status")
    assert [p.name for p in (tmp_path / "sang").iterdir()] == ["submodule"]  # as anybody would be told
    git(repository / "python/sglang/inner", "commit", "-q", "--allow-empty", "-m", "moved")
    commit(repository, "moved")
    with pytest.raises(SideFault, match="moves a submodule of the package"):
        sides_on(here, SidesSpec(repository=str(repository), base="HEAD~1", head="HEAD")).open()


def test_what_a_side_only_links_to_is_looked_at_as_well(here: HostSpec, tmp_path: Path) -> None:
    """A built file is linked for its size, and a submodule of the package always is; both are the user's to rebuild."""
    inner = checkout(tmp_path / "inner")
    repository = checkout(tmp_path / "sglang")
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(inner),
        "python/sglang/inner",
    )
    commit(repository, "a submodule")
    change(repository)
    large = repository / "python/sglang/large.so"
    with large.open("wb") as file:
        file.truncate(MOST_COPIED + 1)
    (repository / "python/sglang/inner/README.md").write_text("dirty\n")

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        head = made(sides).sides[1]
        assert any("sglang/inner" in note and "not committed" in note for note in head.notes)
        assert any("linked, not copied" in note and "large.so" in note for note in head.notes)
        assert sides.at_the_end(proof_of(HEAD, head.root)).proven
        for path in (large, repository / "python/sglang/inner/README.md"):
            with path.open("r+b") as opened:
                opened.write(b"REBUILT")
        later = sides.at_the_end(proof_of(HEAD, head.root))
        assert "what it links to in the checkout is not what it was" in later.why[0]
        assert "sglang/inner" in later.why[0]
        assert "sglang/large.so" in later.why[0]
        with pytest.raises(SideFault, match="when the base was made"):
            sides.make(["without-1"])
    finally:
        sides.close()
