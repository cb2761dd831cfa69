"""What no pair of trees could show is refused before anything is measured, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.side_trees import change, commit, git
from tokgate.errors import SideFault

from .opened_sides import OTHER, Open, opened, repository

__all__ = ["opened", "repository"]


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("sgl-kernel/csrc/a.cu", "reaches compiled parts.*sgl-kernel/csrc/a.cu"),
        ("rust/lib.rs", "reaches compiled parts.*rust/lib.rs"),
        ("python/sglang/kernels/aot/csrc/a.cu", "reaches compiled parts.*kernels/aot/csrc/a.cu"),
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
