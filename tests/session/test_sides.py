"""Sides are made of any checkout or package, prove what they are, refuse what would say nothing, and leave no trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.side_trees import FILE, WORDS, change, checkout, commit, git, patch_of, state_of
from tests.session.rigs import small_rig
from tokgate.errors import SideFault
from tokgate.hosts.connection import connect
from tokgate.hosts.sides import make
from tokgate.records.side import BASE, HEAD, SideState
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.sides import Sides

OTHER = "python/sglang/srt/other.py"
Open = Callable[..., Sides]


def rig_on(host: HostSpec, *, path: str = "", required: tuple[PatchText, ...] = (), **spec: Any) -> Rig:
    """Return a rig whose server's Python is this one, with `path` in its PYTHONPATH."""
    rig = small_rig()
    server = rig.server.model_copy(
        update={"python": sys.executable, "required": required, "environment": {"PYTHONPATH": path}}
    )
    sides = SidesSpec(**spec) if spec else None
    return rig.model_copy(update={"host": host, "server": server, "sides": sides})


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    """Opens sides on this machine and closes them at the end."""
    held: list[Sides] = []
    said: list[str] = []

    def open_(**spec: Any) -> Sides:
        host = HostSpec(work_dir=str(tmp_path / "work"))
        rig = rig_on(host, **spec)
        sides = Sides(connect(host), rig, run_id="run", keep=lambda _: None, say=said.append)
        held.append(sides)
        sides.open()
        return sides

    yield open_
    for one in held:
        one.close()
    assert sorted((tmp_path / "work" / "sides").glob("*")) == [], said


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return checkout(tmp_path / "sglang")


def side(sides: Sides, name: str) -> SideState:
    made = sides.made
    assert made is not None
    found = made.side(name)
    assert found is not None
    return found


def text(sides: Sides, name: str, file: str = "srt/worker.py") -> str:
    return (Path(side(sides, name).root) / "sglang" / file).read_text()


def patch(folder: Path, name: str, *arguments: str) -> PatchText:
    return PatchText(name=name, text=patch_of(folder, *arguments))


def uncommitted_patch(folder: Path, name: str, file: str = FILE, *, line: int = 3) -> PatchText:
    """Return a patch of one changed line, the tree left as it was."""
    change(folder, file, line=line, text=f"patched_{line} = True")
    made = patch(folder, name)
    git(folder, "checkout", "-q", "--", file)
    return made


# ---------------------------------------------------------------------------------------- what a side is


def test_each_commit_is_a_step_and_what_is_not_committed_the_last_one(opened: Open, repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    change(repository, text="second = 2")
    second = commit(repository, 'second: $(touch evil) "quoted"')
    change(repository, OTHER)
    commit(repository, "third")
    change(repository, line=20, text="uncommitted = True")
    (repository / "python/sglang/srt/new.py").write_text("new = True\n")
    (repository / "python/sglang/srt/data.bin").write_bytes(bytes(range(256)))
    git(repository, "mv", OTHER, "python/sglang/srt/moved.py")  # staged, so that the index is not as HEAD is

    sides = opened(repository=str(repository), base=first)
    sides.make(["upto-1"])

    assert [u.name.partition(" ")[2] for u in sides.units[:2]] == ['second: $(touch evil) "quoted"', "third"]
    assert [u.kind for u in sides.units] == ["commit", "commit", "uncommitted"]
    assert text(sides, BASE) == WORDS
    assert "second = 2" in text(sides, "upto-1")
    assert text(sides, "upto-1", "srt/other.py") == WORDS
    assert "uncommitted = True" in text(sides, HEAD)
    assert text(sides, HEAD, "srt/new.py") == "new = True\n"
    package = Path(side(sides, HEAD).root) / "sglang"
    assert (package / "srt/data.bin").read_bytes() == bytes(range(256))
    assert not (package / "srt/other.py").exists()
    assert side(sides, "upto-1").commit == second
    assert side(sides, HEAD).dirty
    assert set(side(sides, HEAD).changed) == {
        FILE, OTHER, *(f"python/sglang/srt/{n}" for n in ("new.py", "data.bin", "moved.py")),
    }  # fmt: skip


def test_only_the_package_stands_in_front_with_what_no_commit_holds(opened: Open, repository: Path) -> None:
    (repository / "python/sitecustomize.py").write_text("raise SystemExit('planted')\n")
    change(repository)

    sides = opened(repository=str(repository), base="HEAD")

    for name in (BASE, HEAD):
        found = side(sides, name)
        assert sorted(p.name for p in Path(found.root).iterdir()) == ["sglang"]
        assert found.version == "1.2.3"
        assert set(found.carried) == {"sglang/_version.py", "sglang/built.so"}
        assert (Path(found.root) / "sglang/built.so").read_bytes()[:4] == b"\x7fELF"
    assert sides.root_of(None) == side(sides, HEAD).root
    assert sides.root_of(BASE) == side(sides, BASE).root


@pytest.mark.parametrize("lies_on", ["base", "head", "beside"])
def test_a_file_that_the_head_deletes_does_not_come_back_from_the_working_tree(
    opened: Open, repository: Path, lies_on: str
) -> None:
    """It was added by force: git ignores it, and yet commits have it."""
    (repository / "python/sglang/srt/fast_version.py").write_text("fast = True\n")
    (repository / "python/sglang/srt/a_version.py").write_text("generated = True\n")
    with (repository / ".gitignore").open("a") as ignored:
        ignored.write("*_version.py\n")
    git(repository, "add", "-f", "python/sglang/srt/fast_version.py")
    commit(repository, "a base")
    git(repository, "branch", "base")
    git(repository, "rm", "-q", "--cached", "python/sglang/srt/fast_version.py")
    commit(repository, "a head")
    git(repository, "branch", "head")
    git(repository, "commit", "-q", "--allow-empty", "-m", "beside")
    git(repository, "branch", "beside")
    git(repository, "checkout", "-q", "-f", lies_on)
    (repository / "python/sglang/srt/fast_version.py").write_text("fast = True\n")

    sides = opened(repository=str(repository), base="base", head="head")

    assert text(sides, BASE, "srt/fast_version.py") == "fast = True\n"
    assert not (Path(side(sides, HEAD).root) / "sglang/srt/fast_version.py").exists()
    assert text(sides, HEAD, "srt/a_version.py") == "generated = True\n"


def test_a_link_into_another_part_of_the_repository_leads_there(opened: Open, repository: Path) -> None:
    (repository / "python/sglang/kernels").symlink_to("../../sgl-kernel/csrc")
    change(repository)
    commit(repository, "second")
    sides = opened(repository=str(repository), base="HEAD~1", head="HEAD")
    assert text(sides, HEAD, "kernels/a.cu") == "words\n"


def test_patches_go_on_top_of_the_base_in_order(opened: Open, repository: Path) -> None:
    first = uncommitted_patch(repository, "1.patch")
    change(repository, text="patched_3 = True")
    git(repository, "add", "-A")
    change(repository, text="patched_twice = True")
    second = patch(repository, "2.patch")
    git(repository, "reset", "-q", "--hard")

    sides = opened(repository=str(repository), patches=(first, second))
    sides.make(["upto-1"])

    assert "patched_3 = True" in text(sides, "upto-1")
    assert "patched_twice = True" in text(sides, HEAD)
    assert [(u.name, u.id, u.files) for u in sides.units] == [
        (p.name, p.sha256, (FILE,)) for p in (first, second)
    ]
    with pytest.raises(SideFault) as caught:
        opened(repository=str(repository), patches=(second, first))
    assert "2.patch does not apply at python/sglang/srt/worker.py, line 1" in caught.value.found
    assert "error: patch failed" in caught.value.found
    assert "@@ -1,7 +1,7 @@" in caught.value.found


def test_what_a_commit_changes_may_be_a_worktree_s_or_a_shallow_clone_s(
    opened: Open, repository: Path, tmp_path: Path
) -> None:
    change(repository)
    commit(repository, "second")
    git(repository, "tag", "v1")
    git(repository, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "feature")
    git(tmp_path / "second", "worktree", "add", "-q", str(tmp_path / "third"), "-b", "more")
    change(tmp_path / "third", line=9)
    commit(tmp_path / "third", "third")
    sides = opened(repository=str(tmp_path / "third"), base="v1", head="more")
    assert side(sides, BASE).commit != side(sides, HEAD).commit
    assert [u.name.partition(" ")[2] for u in sides.units] == ["third"]
    told = text(sides, HEAD)

    subprocess.run(
        ["git", "clone", "-q", "--depth=2", f"file://{tmp_path}/third", str(tmp_path / "shallow")], check=True
    )
    shallow = opened(repository=str(tmp_path / "shallow"), base="HEAD~1", head="HEAD")
    assert text(shallow, HEAD) == told


def test_a_sparse_checkout_lacks_nothing(opened: Open, repository: Path) -> None:
    # Not even its .gitignore.
    git(repository, "sparse-checkout", "set", "--no-cone", "/python/", "!/python/sglang/srt/other.py")
    assert not (repository / OTHER).exists()
    change(repository)

    sides = opened(repository=str(repository), base="HEAD")

    assert text(sides, HEAD, "srt/other.py") == WORDS
    assert side(sides, HEAD).changed == (FILE,)


def test_a_package_at_the_top_of_its_repository_takes_patches_of_sglang_s_own(
    opened: Open, tmp_path: Path
) -> None:
    plain = checkout(tmp_path / "plain", prefix="")
    own = uncommitted_patch(checkout(tmp_path / "own"), "own.patch")

    sides = opened(repository=str(plain), patches=(own,))

    assert "patched_3 = True" in text(sides, HEAD)
    assert side(sides, HEAD).changed == ("sglang/srt/worker.py",)


# ---------------------------------------------------------------------------------------- an installed package


@pytest.fixture
def installed(repository: Path, tmp_path: Path) -> Path:
    """A package as a wheel installs it, and caches of an interpreter in it."""
    site = tmp_path / "site"
    shutil.copytree(repository / "python/sglang", site / "sglang")
    (site / "sglang/__pycache__").mkdir()
    (site / "sglang/__pycache__/x.cpython-311.pyc").write_bytes(b"x")
    return site


def test_patches_of_an_installed_package_go_onto_a_copy(
    opened: Open, repository: Path, installed: Path
) -> None:
    change(repository)
    change(repository, "README.md", line=0, text="other words")
    made = patch(repository, "a.patch")
    without_python = PatchText(name="b.patch", text=made.text.replace("/python/sglang/", "/sglang/"))
    before = state_of(installed)

    for one in (made, without_python):
        sides = opened(path=str(installed), patches=(one,))
        assert text(sides, BASE) == WORDS
        assert "changed = True" in text(sides, HEAD)
        assert side(sides, HEAD).kind == "copy"
        assert side(sides, HEAD).source == str(installed / "sglang")
        assert side(sides, HEAD).changed == (FILE,)
        assert not (Path(side(sides, HEAD).root) / "sglang/__pycache__").exists()
        assert sides.made is not None
        assert any("README.md" in note for note in sides.made.notes)
    assert state_of(installed) == before


def test_patches_that_are_in_already_are_taken_out_for_the_base(
    opened: Open, repository: Path, installed: Path
) -> None:
    first = uncommitted_patch(repository, "1.patch")
    second = uncommitted_patch(repository, "2.patch", line=30)
    subprocess.run(
        ["git", "apply", "-p2"], input=first.text + second.text, text=True, cwd=installed, check=True
    )
    spec: dict[str, Any] = {"path": str(installed), "patches": (first, second)}

    with pytest.raises(SideFault, match=r"1\.patch is in what it should be applied to already"):
        opened(**spec)
    sides = opened(**spec, applied=True, question="instrumented")
    sides.make(["upto-1"])

    assert text(sides, BASE) == WORDS
    assert "patched_3 = True" in text(sides, "upto-1")
    assert "patched_30" not in text(sides, "upto-1")
    assert "patched_30 = True" in text(sides, HEAD)
    assert [u.name for u in sides.units] == ["1.patch", "2.patch"]


def test_the_sides_of_what_is_installed_from_a_checkout_need_no_path(
    opened: Open, repository: Path, installed: Path
) -> None:
    with pytest.raises(SideFault, match="is an installed package and no checkout"):
        opened(path=str(installed), base="HEAD")
    with pytest.raises(SideFault, match=r"nothing in .* is uncommitted"):
        opened(path=str(repository / "python"), question="instrumented")
    change(repository)
    sides = opened(path=str(repository / "python"), question="instrumented")
    assert text(sides, BASE) == WORDS
    assert "changed = True" in text(sides, HEAD)
    assert side(sides, HEAD).source == str(repository)


# ---------------------------------------------------------------------------------------- required patches


def test_required_patches_are_on_every_side_or_found_there(opened: Open, repository: Path) -> None:
    support = uncommitted_patch(repository, "support.patch", OTHER, line=5)
    change(repository)
    commit(repository, "second")

    sides = opened(repository=str(repository), base="HEAD~1", head="HEAD", required=(support,))
    assert all("patched_5 = True" in text(sides, name, "srt/other.py") for name in (BASE, HEAD))
    assert side(sides, HEAD).changed == (FILE,)
    assert [u.id for u in side(sides, HEAD).required] == [support.sha256]

    # The user's tree has it, not yet committed: it is no part of the change.
    change(repository, OTHER, line=5, text="patched_5 = True")
    change(repository, line=30)
    dirty = opened(repository=str(repository), base="HEAD", required=(support,))
    assert side(dirty, HEAD).changed == (FILE,)
    assert "the required patch support.patch is in it already" in side(dirty, HEAD).notes


def test_a_required_patch_that_is_the_change_leaves_nothing_to_measure(
    opened: Open, repository: Path
) -> None:
    support = uncommitted_patch(repository, "support.patch")
    change(repository, text="patched_3 = True")
    change(repository, "docs/a.md", line=0, text="other words")
    commit(repository, "the same as support.patch, and words")
    with pytest.raises(SideFault, match=r"nothing that a server imports differs.*support\.patch.*docs/a\.md"):
        opened(repository=str(repository), base="HEAD~1", head="HEAD", required=(support,))


def test_sides_that_come_out_as_one_tree_are_refused(
    opened: Open, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(repository)
    commit(repository, "second")

    def alike(*arguments: Any) -> SideState:
        return make(*arguments).model_copy(update={"tree": "0" * 64, "carried": ("sglang/srt/worker.py",)})

    monkeypatch.setattr("tokgate.session.sides.make", alike)
    with pytest.raises(
        SideFault, match=r"are the same tree.*taken over from the checkout for both sides: .*worker"
    ):
        opened(repository=str(repository), base="HEAD~1", head="HEAD")


def test_a_plain_session_gets_a_tree_with_them_unless_they_are_in(
    opened: Open, repository: Path, installed: Path
) -> None:
    support = uncommitted_patch(repository, "support.patch")

    sides = opened(path=str(installed), required=(support,))
    root = sides.root_of(None)
    assert root is not None
    assert "patched_3 = True" in (Path(root) / "sglang/srt/worker.py").read_text()

    subprocess.run(["git", "apply", "-p2"], input=support.text, text=True, cwd=installed, check=True)
    found = opened(path=str(installed), required=(support,))
    assert found.root_of(None) is None
    assert side(found, HEAD).kind == "installed"


# ---------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("sgl-kernel/csrc/a.cu", "reaches compiled parts.*sgl-kernel/csrc/a.cu"),
        ("rust/lib.rs", "reaches compiled parts.*rust/lib.rs"),
        ("python/sglang/srt/grpc/a.proto", "reaches compiled parts.*a.proto"),
        ("docs/a.md", "nothing that a server imports differs.*docs/a.md"),
        ("python/sglang/test/test_worker.py", "nothing that a server imports differs"),
        ("sgl-kernel/tests/test_a.py", "nothing that a server imports differs"),
        ("python/sglang/.gitattributes", "nothing that a server imports differs"),
        ("python/sglang/srt/.gitignore", "nothing that a server imports differs"),
    ],
)
def test_a_change_that_a_tree_cannot_show_is_refused(
    opened: Open, repository: Path, file: str, told: str
) -> None:
    (repository / file).parent.mkdir(parents=True, exist_ok=True)
    with (repository / file).open("a") as opened_file:
        opened_file.write("other words\n")
    commit(repository, "second")
    with pytest.raises(SideFault, match=told):
        opened(repository=str(repository), base="HEAD~1", head="HEAD")


def test_other_packages_that_a_change_asks_for_are_told(opened: Open, repository: Path) -> None:
    change(repository)
    change(repository, "python/pyproject.toml", line=1, text='  "torch==2.9.0",')
    commit(repository, "second")
    sides = opened(repository=str(repository), base="HEAD~1", head="HEAD")
    assert sides.made is not None
    assert any("-torch==2.8.0, +torch==2.9.0" in note for note in sides.made.notes)


def test_names_that_there_are_not_and_sides_that_do_not_differ(
    opened: Open, repository: Path, tmp_path: Path
) -> None:
    for spec, told in (
        ({"base": "nowhere"}, "has no commit nowhere|has no commit 'nowhere'"),
        ({"base": "HEAD", "head": "HEAD"}, "base and head are the same"),
        ({"base": "HEAD"}, "base and head are the same"),
        ({"base": "HEAD", "head": "HEAD:README.md"}, "has no commit"),
    ):
        with pytest.raises(SideFault, match=told):
            opened(repository=str(repository), **spec)
    with pytest.raises(SideFault, match="no such folder"):
        opened(repository=str(tmp_path / "none"), base="HEAD")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SideFault, match="is no git repository"):
        opened(repository=str(tmp_path / "empty"), base="HEAD")
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(SideFault, match="has no commit yet"):
        opened(repository=str(tmp_path / "empty"), base="HEAD")


def test_a_name_of_a_branch_and_of_a_tag_is_neither(opened: Open, repository: Path) -> None:
    git(repository, "tag", "v1")
    git(repository, "branch", "v1")
    change(repository)
    commit(repository, "second")
    opened(repository=str(repository), base="v1", head="main")  # both are one commit
    git(repository, "branch", "-f", "v1", "HEAD")
    for name in ("v1", "v1~0"):
        with pytest.raises(SideFault, match=r"ambiguous.*refs/tags/v1 .* and refs/heads/v1 "):
            opened(repository=str(repository), base=name, head="main")
    opened(repository=str(repository), base="refs/tags/v1", head="main")


def test_a_head_beside_its_base_is_told_and_cannot_be_searched(opened: Open, repository: Path) -> None:
    fork = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "checkout", "-q", "-b", "feature")
    change(repository)
    commit(repository, "ours")
    git(repository, "checkout", "-q", "main")
    change(repository, OTHER)
    commit(repository, "theirs")

    sides = opened(repository=str(repository), base="main", head="feature")
    assert sides.made is not None
    assert any(
        "the base has 1 commits that the head has not" in n and fork[:12] in n for n in sides.made.notes
    )
    with pytest.raises(SideFault, match="no order of steps to search"):
        opened(repository=str(repository), base="main", head="feature", question="culprit")


# ---------------------------------------------------------------------------------------- nothing is touched, nothing is left


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
