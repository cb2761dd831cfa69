"""Which tokgate measures: git's answer, or what a copy of a checkout says of itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tokgate.session.commit import FILE, commit_of


def test_a_copy_says_which_commit_it_is_of(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("abc123+dirty\n", encoding="utf-8")
    assert commit_of(tmp_path) == "abc123+dirty"


def test_a_copy_of_what_had_no_commit_has_none(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("\n", encoding="utf-8")
    assert commit_of(tmp_path) is None


def test_a_folder_outside_git_has_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None


def test_a_checkout_with_changes_is_dirty(tmp_path: Path) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    clean = commit_of(tmp_path)
    (tmp_path / "new").touch()
    assert commit_of(tmp_path) == f"{clean}+dirty"


def test_a_bisection_s_own_repository_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What git starts has variables that name the repository it is in."""
    subprocess.run(["git", "init", "-q", str(tmp_path / "sglang")], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "sglang" / ".git"))
    (tmp_path / "copy").mkdir()
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "x"], cwd=tmp_path, check=True)
    assert commit_of(tmp_path / "copy") is None
