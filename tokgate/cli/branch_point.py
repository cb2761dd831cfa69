"""Which revision a change is compared with where nobody names one: where its branch left the default branch."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tokgate.cli.git import git

OTHER = "name another revision by --against"
_DEFAULTS = ("origin/main", "origin/master", "main", "master")


class Base(NamedTuple):
    commit: str
    words: str  # "the merge base with origin/main"
    narrow: str | None = None  # what a comparison with it cannot see


def branch_point(root: Path) -> Base | None:
    """Return the merge base of HEAD and the default branch: origin/HEAD, else main or master.

    HEAD itself where there is no such branch or no merge base, a shallow clone say, and where nothing was committed beyond it;
    `narrow` says so, since what HEAD already loosens is not seen then. None: there is no commit, or no git.
    """
    head = _commit(root, "HEAD")
    if head is None:
        return None
    branch = _default(root)
    if branch is None:
        return Base(
            head,
            "HEAD",
            f"neither origin/HEAD nor main nor master is there: commits of this branch are not seen; {OTHER}",
        )
    found = git(root, "merge-base", "HEAD", branch)
    if found is None:
        return Base(
            head,
            "HEAD",
            f"HEAD and {branch} have no common commit here (a shallow clone?): commits of this branch are not seen; {OTHER}",
        )
    commit = found.decode().strip()
    if commit == head:
        return Base(
            head, "HEAD", f"all of it is on {branch}, so what its commits loosened is not seen; {OTHER}"
        )
    return Base(commit, f"the merge base with {branch}")


def _default(root: Path) -> str | None:
    told = git(root, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    names = ((told.decode().strip(),) if told is not None else ()) + _DEFAULTS
    return next((name for name in names if _commit(root, name) is not None), None)


def _commit(root: Path, name: str) -> str | None:
    # A tag may have a branch's name: refs are named in full.
    full = name if name == "HEAD" else f"refs/{'remotes' if name.startswith('origin/') else 'heads'}/{name}"
    told = git(root, "rev-parse", "--verify", "--quiet", f"{full}^{{commit}}")
    return told.decode().strip() if told is not None else None
