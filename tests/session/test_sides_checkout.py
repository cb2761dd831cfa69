"""What a side of a checkout is: its commits, its working tree, its patches, whatever kind of checkout it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.hosts.side_trees import FILE, WORDS, change, checkout, commit, git
from tokgate.errors import SideFault
from tokgate.records.side import BASE, HEAD

from .opened_sides import OTHER, Open, opened, patch, repository, side, text, uncommitted_patch

__all__ = ["opened", "repository"]


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
