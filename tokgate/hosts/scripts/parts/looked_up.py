"""What a repository has: commits by name, the package in them, files that differ, and files that no commit holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, shown
from tokgate.hosts.scripts.parts.neighbours import below

MOST_FILES = 200  # named of one unit
BUILT = (".so", ".pyd", ".a", ".dylib")


def resolve(git: Git, name: str, repository: str) -> str:
    if name.startswith("-"):
        raise Refused(
            f"{name!r}, which git would read as an option", f"write refs/heads/{name}, or its commit"
        )
    refuse_ambiguous(git, name, repository)
    try:
        return git.text("rev-parse", "--verify", f"{name}^{{commit}}")
    except GitFailed as failed:
        unborn = name == "HEAD"
        raise Refused(
            f"{repository} has no commit yet"
            if unborn
            else f"{repository} has no commit {shown(name)!r}: {failed}",
            "commit something first, or name --base and --head"
            if unborn
            else "name a commit, branch or tag that it has; one of a remote has to be fetched first: the gate fetches nothing",
        ) from failed


def refuse_ambiguous(git: Git, name: str, repository: str) -> None:
    """Refused: a tag and a branch have this name, and lie on different commits; git would take one of them and say so aside."""
    first = re.split(r"[~^:]|@\{", name, maxsplit=1)[0]
    if first in ("", "HEAD", "@"):
        return
    places = {}
    for front in ("refs/", "refs/tags/", "refs/heads/", "refs/remotes/"):  # as in gitrevisions(7)
        ref = front + first
        if (found := git.try_text("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")) is not None:
            places[ref] = found
    if len(set(places.values())) > 1:
        told = " and ".join(f"{shown(ref)} ({commit[:12]})" for ref, commit in places.items())
        raise Refused(
            f"{shown(name)!r} is ambiguous in {repository}: {told}", "write the one that is meant in full"
        )


def prefix_of(git: Git, commit_id: str, repository: str) -> str:
    """Return what stands before "sglang/" in the tree: "python/" in SGLang's own repository."""
    wanted = "sglang/__init__.py"
    names = [
        n
        for n in git.names("ls-tree", "-r", "-z", "--name-only", commit_id)
        if f"/{n}".endswith(f"/{wanted}")
    ]
    for front in ("python/", ""):
        if front + wanted in names:
            return front
    if len(names) == 1:
        return names[0][: -len(wanted)]
    raise Refused(
        f"no package sglang in {repository} at {commit_id[:12]}, neither python/sglang/ nor sglang/",
        "name a checkout of SGLang, and commits that have it",
    )


def differing(git: Git, before: str, after: str) -> list[str]:
    return git.names("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id", before, after)


def touched(git: Git, steps: Sequence[str]) -> set[str]:
    """Return the files that any step changes, also those that a later one changes back."""
    # No pairwise and no zip(strict=): the host's Python may be 3.9.
    pairs = "".join(f"{steps[k]} {steps[k - 1]}\n" for k in range(1, len(steps))).encode()
    options = ("--stdin", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id")
    return set(git.names("diff-tree", *options, data=pairs)) if pairs else set()


def tracked(git: Git, commit: str, prefix: str, places: Iterable[str]) -> set[str]:
    """Return the files that a commit has in these places beside each other, the package sglang among them."""
    where = [f"{prefix}{place}" for place in places]
    return set(git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *where))


def unit(name: str, kind: str, identifier: str, files: list[str]) -> dict[str, Any]:
    return {"name": name, "kind": kind, "id": identifier, "files": [shown(f) for f in files[:MOST_FILES]]}


def submodules(git: Git, commit: str, prefix: str, places: Iterable[str]) -> dict[str, str]:
    """Return the repositories inside these places: where they lie, from "sglang/" on, and the commits that they are to be on."""
    found = {}
    for row in git.names("ls-tree", "-r", "-z", commit, "--", *(f"{prefix}{place}" for place in places)):
        facts, _, name = row.partition("\t")
        mode, _, identifier = facts.split()
        if mode == "160000":
            found[name[len(prefix) :]] = identifier
    return found


def sparse(theirs: Git) -> frozenset[str]:
    """Return the tracked files that a sparse checkout leaves out of the working tree."""
    rows = theirs.names("ls-files", "-t", "-z", "--full-name")
    return frozenset(row[2:] for row in rows if row.startswith("S "))


def working_index(git: Git, theirs: Git, top: Path, start: str) -> Git:
    """Return git with an index of the gate's own over the working tree at `top`: nothing but the commit is in it."""
    index = git.with_variables(GIT_INDEX_FILE=str(git.home / "look.index"), GIT_WORK_TREE=str(top))
    index("read-tree", start)
    # So marked, a .gitignore that is left out still counts.
    left_out = sparse(theirs) & set(index.names("ls-files", "-z"))
    if left_out:
        told = b"".join(os.fsencode(name) + b"\0" for name in left_out)
        index("update-index", "--skip-worktree", "-z", "--stdin", data=told)
    return index


def others(index: Git, prefix: str, places: Sequence[str], *options: str) -> list[str]:
    """Return the files of these places that are not tracked, sorted."""
    # With the places alone, git would forget the index's .gitignore outside them before it looks for rules there.
    where = [f"{prefix}{place}" for place in places]
    found = index.names(
        "ls-files", "--others", *options, "--exclude-standard", "-z", "--", *where, ".gitignore"
    )
    return sorted(name for name in found if below(name, prefix, places))


def held_by_no_commit(index: Git, prefix: str, places: Sequence[str]) -> list[str]:
    """Return the files of these places that git ignores, or that are built: by their names from "sglang/" on."""
    ignored = others(index, prefix, places, "--ignored")
    untracked = others(index, prefix, places)
    return [
        name[len(prefix) :]
        for name in [*ignored, *(n for n in untracked if n.endswith(BUILT))]
        if not name.endswith((".pyc", "/")) and "__pycache__" not in name.split("/")
    ]
