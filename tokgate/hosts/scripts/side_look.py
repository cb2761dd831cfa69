"""Looks at a change of SGLang: which trees there are to compare, step by step, as commits of a repository of the gate's own.

No tree is written yet (side_make.py), and nothing at all into the repository that is looked at.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.change import Change
from tokgate.hosts.scripts.parts.commit_steps import steps_of
from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, check_version, shown
from tokgate.hosts.scripts.parts.lfs_files import store_of
from tokgate.hosts.scripts.parts.looked_up import BUILT, differing, prefix_of, resolve, unit, working_index
from tokgate.hosts.scripts.parts.own_repository import borrow, foreign, make_folder, top_of
from tokgate.hosts.scripts.parts.tree_files import Content, Reader, commit, walk
from tokgate.hosts.scripts.parts.working_tree import Taken, take

# Of an installed package: what is larger than a source is built or data, and is carried over, not kept in git.
MOST_SOURCE = 1 << 20


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"folder", "repository", "package", "base", "head", "patches", "applied", "question", "required"} -> what there is.

    {"refused": {"found", "do"}} where it cannot be compared; then nothing of it is left.
    """
    folder = Path(argument["folder"])
    try:
        make_folder(folder)
        check_version(folder)
        change = Change(folder, argument)
        repository = repository_of(change)
        return of_package(change) if repository is None else of_repository(change, repository)
    except (Refused, GitFailed) as refused:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(refused, Refused):
            return {"refused": {"found": refused.found, "do": refused.do}}
        words = shown(str(refused), 1000)
        return {
            "refused": {"found": f"git: {words}", "do": "mend the repository: `git fsck` there says more"}
        }
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def repository_of(change: Change) -> str | None:
    """Return the checkout that is meant; None: the installed package."""
    asked = change.asked
    if asked["repository"] is not None:
        return str(asked["repository"])
    asks = asked["base"] or (asked["question"] == "instrumented" and not asked["patches"])
    if not asks:
        return None
    package = package_of(change)
    git = Git(change.folder, "-C", str(package))
    if git.try_text("ls-files", "--error-unmatch", "__init__.py") is None:
        raise Refused(
            f"the SGLang that server.python imports, {package}, is an installed package and no checkout",
            "name one: --sglang-repo PATH; or name the change as --patch FILE",
        )
    return str(package)


def package_of(change: Change) -> Path:
    if change.asked["package"] is None:
        raise Refused(
            "server.python of the rig finds no sglang", "install SGLang there, or name --sglang-repo PATH"
        )
    return Path(change.asked["package"])


def of_repository(change: Change, repository: str) -> dict[str, Any]:
    theirs = foreign(change.folder, repository)
    change.top = top_of(theirs, repository)
    if change.top is not None:
        theirs = foreign(change.folder, str(change.top))
    git = borrow(change.folder, theirs)
    asked, head_named = change.asked, change.asked["head"]
    lies_on = None
    if not (head_named or (asked["patches"] and asked["base"])):
        lies_on = resolve(theirs, "HEAD", repository)
    if head_named:
        head = resolve(theirs, head_named, repository)
    elif asked["patches"] and not asked["applied"]:
        head = resolve(theirs, asked["base"] or "HEAD", repository)
    else:
        head = str(lies_on)
    base = resolve(theirs, asked["base"], repository) if asked["base"] else head
    prefix = prefix_of(git, head, repository)
    if prefix_of(git, base, repository) != prefix:
        raise Refused(
            "the package sglang lies in different folders on the two sides", "compare sides that agree on it"
        )
    change.git, change.prefix, change.kind = git, prefix, "worktree"
    change.source, change.store = str(change.top or repository), store_of(theirs)
    uncommitted = None
    if lies_on is not None:
        if change.top is None:
            raise Refused(f"{repository} is bare: it has no working tree", "name the change: --head REF")
        taken = take(git, theirs, change.top, lies_on, prefix)
        change.notes += taken.notes
        if not asked["patches"]:
            uncommitted = taken if taken.tree else None
        elif asked["applied"]:
            head = base = taken.commit
        elif taken.tree:
            change.notes.append("the working tree has uncommitted changes: they are on neither side")
    if change.top is not None:
        change.index = working_index(git, theirs, change.top, lies_on or head)
        change.checked_out = theirs.try_text("rev-parse", "--verify", "--quiet", "HEAD")
    if asked["patches"]:
        return change.with_patches(base, lies_on=lies_on if asked["applied"] else base)
    return of_commits(change, base, head, uncommitted)


def of_commits(change: Change, base: str, head: str, uncommitted: Taken | None) -> dict[str, Any]:
    git, question = change.git, change.asked["question"]
    steps, units, notes = steps_of(git, base, head, searched=question == "culprit")
    change.notes += notes
    if uncommitted is not None:
        files = differing(git, head, uncommitted.commit)
        units.append(unit("uncommitted changes", "uncommitted", str(uncommitted.tree), files))
        steps.append(uncommitted.commit)
    elif question == "instrumented":
        raise Refused(
            f"nothing in {change.source} is uncommitted",
            "name the commits instead: --base REF; or the patches: --instrumented --patch FILE",
        )
    commits = [*steps[:-1], head] if uncommitted else steps
    dirty = [*[None] * (len(steps) - 1), uncommitted.tree if uncommitted else None]
    return change.answer(steps, units, commits=commits, dirty=dirty)


def of_package(change: Change) -> dict[str, Any]:
    package = package_of(change)
    change.top, change.source, change.kind, change.prefix = package.parent, str(package), "copy", "python/"
    change.git = borrow(change.folder, None)
    base = commit(change.git, "package", start=None, files=sources_of(change, package))
    asked = change.asked
    if not asked["patches"]:
        patcher = change.patcher()
        if all(patcher.is_in(base, patch) for patch in asked["required"]):
            return {"installed": {"names": [p["name"] for p in asked["required"]]}, **change.facts()}
    return change.with_patches(base)


def sources_of(change: Change, package: Path) -> Iterator[tuple[str, Content]]:
    """Yield an installed package's sources; the rest is to be carried over."""
    reader = Reader(package)
    for name in walk(package):
        content = reader.read(name)
        if content is None or len(content.data) > MOST_SOURCE or name.endswith(BUILT):
            change.carry.append(f"sglang/{name}")
        else:
            yield f"python/sglang/{name}", content
