"""A mistyped name of a side is told before a session begins, with the names that look like it; a right one with its commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.session.opened_sides import repository, rig_on
from tokgate.errors import UsageError
from tokgate.hosts.connection import connect
from tokgate.hosts.side_names import named
from tokgate.rig.machine import HostSpec
from tokgate.rig.sides import PatchText

from .side_trees import change, commit, git, state_of

__all__ = ["repository"]


def told(repository: Path, **spec: Any) -> tuple[str, ...]:
    host = HostSpec(work_dir=str(repository.parent / "work"))
    return named(connect(host), rig_on(host, repository=str(repository), **spec))


def refused(repository: Path, **spec: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        told(repository, **spec)
    return caught.value


def test_each_name_is_told_with_its_commit_and_the_tree_with_what_is_not_committed(repository: Path) -> None:
    first = git(repository, "rev-parse", "--short=10", "HEAD").strip()
    git(repository, "tag", "v0.5.22")
    change(repository)
    second = commit(repository, "verify: count \x1b[31mdrafts")[:10]
    day = git(repository, "log", "-1", "--format=%cs").strip()
    assert told(repository, base="v0.5.22", head="main") == (
        f"base: v0.5.22 is {first} of {day}, first",
        f"head: main is {second} of {day}, verify: count \\x1b[31mdrafts",
    )
    assert told(repository, base="v0.5.22")[1].endswith("drafts, nothing uncommitted")

    change(repository, line=9)
    (repository / "python/sglang/srt/new.py").write_text("new = True\n")
    before = state_of(repository)
    assert told(repository, base="v0.5.22")[1].endswith(", 2 files uncommitted")
    assert told(repository, base="v0.5.22", head="HEAD")[2] == (
        "the working tree has 2 files uncommitted, on neither side"
    )
    assert (
        told(repository, question="instrumented")[1] == "head: the working tree, on that, 2 files uncommitted"
    )
    patched = told(repository, base="main", patches=(PatchText(name="a.patch", text=""),))
    assert patched[1] == "head: the base with 1 patch"
    assert state_of(repository) == before


@pytest.mark.parametrize(
    ("name", "near"),
    [("mainn", "main"), ("V0.5.22", "v0.5.22"), ("v0.5.23", "v0.5.22"), ("my-fix", "origin/my-fix")],
)
def test_a_mistyped_name_is_answered_with_what_looks_like_it(repository: Path, name: str, near: str) -> None:
    git(repository, "tag", "v0.5.22")
    git(repository, "update-ref", "refs/remotes/origin/my-fix", "HEAD")
    error = refused(repository, base=name)
    assert f"has no commit '{name}': fatal: " in error.found
    assert error.do.startswith(f"there is {near}; else ")


def test_what_is_no_checkout_of_sglang_is_told_as_well(repository: Path, tmp_path: Path) -> None:
    assert "no such folder" in refused(tmp_path / "none", base="main").found
    (tmp_path / "empty").mkdir()
    assert "is no git repository" in refused(tmp_path / "empty", base="main").found
    git(tmp_path / "empty", "init", "-q")
    assert "has no commit yet" in refused(tmp_path / "empty", question="instrumented").found
    (tmp_path / "empty" / "words").write_text("")
    commit(tmp_path / "empty", "words")
    assert "no package sglang" in refused(tmp_path / "empty", base="HEAD").found
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare"))
    assert "is bare" in refused(tmp_path / "bare", base="HEAD").found


def commit_nothing(folder: Path) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", "second")
    return git(folder, "rev-parse", "HEAD").strip()


def test_a_short_commit_that_is_a_branch_s_name_too_is_ambiguous(repository: Path) -> None:
    one = commit_nothing(repository)
    short = one[:7]
    git(repository, "branch", short, "HEAD~1")
    error = refused(repository, base=short)
    assert "is ambiguous" in error.found
    assert one[:12] in error.found
    assert "in full" in error.do


def test_an_installed_package_has_no_commits_even_inside_somebody_s_repository(repository: Path) -> None:
    site = repository / "venv/site"
    (site / "sglang").mkdir(parents=True)
    (site / "sglang/__init__.py").write_text("")
    host = HostSpec(work_dir=str(repository.parent / "work"))
    assert named(connect(host), rig_on(host, path=str(site), patches=(PatchText(name="a", text=""),))) == ()
    with pytest.raises(UsageError, match="is an installed package and no checkout"):
        named(connect(host), rig_on(host, path=str(site), base="main"))
