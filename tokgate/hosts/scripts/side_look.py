"""Looks at a change of SGLang: which trees there are to compare, step by step, as commits of a repository of the gate's own.

No tree is written yet (side_make.py), and nothing at all into the repository that is looked at.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.commit_steps import steps_of
from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, check_version, shown
from tokgate.hosts.scripts.parts.lfs_files import store_of
from tokgate.hosts.scripts.parts.looked_up import (
    BUILT,
    differing,
    held_by_no_commit,
    prefix_of,
    resolve,
    touched,
    tracked,
    unit,
    working_index,
)
from tokgate.hosts.scripts.parts.own_repository import borrow, foreign, make_folder
from tokgate.hosts.scripts.parts.patching import Patcher
from tokgate.hosts.scripts.parts.side_rules import check, dependencies, listed
from tokgate.hosts.scripts.parts.tree_files import Reader, commit, walk
from tokgate.hosts.scripts.parts.working_tree import take

MOST_CARRIED = 2000
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
        return Look(folder, argument).look()
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


class Look:
    def __init__(self, folder: Path, argument: dict[str, Any]) -> None:
        self.folder = folder
        self.asked = argument
        self.notes: list[str] = []
        self.carry: list[str] = []  # names from "sglang/" on
        self.top: Path | None = None  # the working tree that things are carried over from
        self.elsewhere: set[str] = set()  # files of the commit that it lies on
        self.store: Path | None = None  # where git-lfs keeps the checkout's objects

    def look(self) -> dict[str, Any]:
        repository = self._repository()
        return self._of_package() if repository is None else self._of_repository(repository)

    def _repository(self) -> str | None:
        """Return the checkout that is meant; None: the installed package."""
        if self.asked["repository"] is not None:
            return str(self.asked["repository"])
        asks = self.asked["base"] or (self.asked["question"] == "instrumented" and not self.asked["patches"])
        if not asks:
            return None
        package = self._package()
        git = Git(self.folder, "-C", str(package))
        if git.try_text("ls-files", "--error-unmatch", "__init__.py") is None:
            raise Refused(
                f"the SGLang that server.python imports, {package}, is an installed package and no checkout",
                "name one: --sglang-repo PATH; or name the change as --patch FILE",
            )
        return str(package)

    def _package(self) -> Path:
        if self.asked["package"] is None:
            raise Refused(
                "server.python of the rig finds no sglang", "install SGLang there, or name --sglang-repo PATH"
            )
        return Path(self.asked["package"])

    # ------------------------------------------------------------------ a repository

    def _of_repository(self, repository: str) -> dict[str, Any]:
        theirs = foreign(self.folder, repository)
        top = theirs.try_text("rev-parse", "--show-toplevel")
        if top:
            self.top = Path(top)
            theirs = foreign(self.folder, top)
        git = borrow(self.folder, theirs)
        asked, head_named = self.asked, self.asked["head"]
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
                "the package sglang lies in different folders on the two sides",
                "compare sides that agree on it",
            )
        uncommitted = None
        if lies_on is not None and self.top is None:
            raise Refused(f"{repository} is bare: it has no working tree", "name the change: --head REF")
        if lies_on is not None and self.top is not None:
            taken = take(git, theirs, self.top, lies_on, prefix)
            self.notes += taken.notes
            if not asked["patches"]:
                uncommitted = taken if taken.tree else None
            elif asked["applied"]:
                head = base = taken.commit
            elif taken.tree:
                self.notes.append("the working tree has uncommitted changes: they are on neither side")
        if self.top is not None:
            index = working_index(git, theirs, self.top, lies_on or head)
            self.carry = held_by_no_commit(index, prefix)
            if (checked_out := theirs.try_text("rev-parse", "--verify", "--quiet", "HEAD")) is not None:
                self.elsewhere = tracked(git, checked_out, prefix)
        self.store = store_of(theirs)
        self.source, self.kind, self.prefix, self.git = str(self.top or repository), "worktree", prefix, git
        if asked["patches"]:
            return self._with_patches(base, lies_on=lies_on if asked["applied"] else base)
        steps, units, notes = steps_of(git, base, head, searched=asked["question"] == "culprit")
        self.notes += notes
        if uncommitted is not None:
            files = differing(git, head, uncommitted.commit)
            units.append(unit("uncommitted changes", "uncommitted", str(uncommitted.tree), files))
            steps.append(uncommitted.commit)
        elif asked["question"] == "instrumented":
            raise Refused(
                f"nothing in {self.source} is uncommitted",
                "name the commits instead: --base REF; or the patches: --instrumented --patch FILE",
            )
        commits = [*steps[:-1], head] if uncommitted else steps
        dirty = [*[None] * (len(steps) - 1), uncommitted.tree if uncommitted else None]
        return self._answer(steps, units, commits=commits, dirty=dirty)

    # ------------------------------------------------------------------ an installed package

    def _of_package(self) -> dict[str, Any]:
        package = self._package()
        git = borrow(self.folder, None)
        self.top, self.source, self.kind, self.prefix, self.git = (
            package.parent,
            str(package),
            "copy",
            "python/",
            git,
        )
        reader = Reader(package)

        def sources() -> Any:
            for name in walk(package):
                content = reader.read(name)
                if content is None or len(content.data) > MOST_SOURCE or name.endswith(BUILT):
                    self.carry.append(f"sglang/{name}")
                else:
                    yield f"python/sglang/{name}", content

        base = commit(git, "package", start=None, files=sources())
        if not self.asked["patches"] and self._all_in(base):
            return {"installed": {"names": [p["name"] for p in self.asked["required"]]}, **self._facts()}
        return self._with_patches(base)

    def _all_in(self, commit_id: str) -> bool:
        patcher = self._patcher()
        return all(patcher.is_in(commit_id, patch) for patch in self.asked["required"])

    # ------------------------------------------------------------------ both

    def _with_patches(self, tree: str, *, lies_on: str | None = None) -> dict[str, Any]:
        """Patches on top of `tree`, or taken out of it where they are in it; the rig's required ones below them all.

        `lies_on`: the commit of theirs that all of it lies on; None: of no repository.
        """
        patcher, found_in = self._patcher(), []
        for patch in self.asked["required"]:
            if patcher.is_in(tree, patch):
                found_in.append(patch["name"])
            else:
                tree, _ = patcher.apply(tree, patch)
        patches = self.asked["patches"]
        steps, units = [tree], []
        order = list(reversed(patches)) if self.asked["applied"] else patches
        for patch in order:
            made, way = patcher.apply(steps[-1], patch, reverse=self.asked["applied"])
            if way.outside:
                self.notes.append(
                    f"{shown(patch['name'])}: {len(way.outside)} files outside the package are left out: {listed(way.outside)}"
                )
            steps.append(made)
            units.append(unit(shown(patch["name"]), "patch", patch["sha256"], list(way.names)))
        if self.asked["applied"]:
            steps, units = steps[::-1], units[::-1]
        dirty: list[str | None] = [None] * len(steps)
        if lies_on is not None and self.asked["applied"]:
            clean, *trees = (self.git.text("rev-parse", f"{one}^{{tree}}") for one in (lies_on, *steps))
            dirty = [None if one == clean else one for one in trees]
        return self._answer(steps, units, commits=[lies_on] * len(steps), dirty=dirty, required_in=found_in)

    def _patcher(self) -> Patcher:
        return Patcher(self.git, self.folder, self.prefix, package_only=self.kind == "copy")

    def _answer(
        self,
        steps: list[str],
        units: list[dict[str, Any]],
        *,
        commits: list[Any],
        dirty: list[Any],
        required_in: list[str] | None = None,
    ) -> dict[str, Any]:
        changed = differing(self.git, steps[0], steps[-1])
        if self.asked["question"] is not None:
            check(changed, self.prefix, self.git, (steps[0], steps[-1]))
            self.notes += dependencies(changed, self.prefix, self.git, steps[0], steps[-1])
        moving = touched(self.git, steps)
        self._carry_no_commits_file(moving | tracked(self.git, steps[0], self.prefix))
        return {
            **self._facts(),
            "touched": sorted(n[len(self.prefix) :] for n in moving if n.startswith(f"{self.prefix}sglang/")),
            "steps": steps,
            "units": units,
            "commits": commits,  # of the repository that was looked at, which each step lies on
            "dirty": dirty,
            # None: each side has them applied, or finds them, when it is made.
            "required_in": required_in,
            "notes": [shown(note, 600) for note in self.notes],
        }

    def _carry_no_commits_file(self, held: set[str]) -> None:
        """Leave out of `carry` what a commit of the change has, though git ignores it: a side that deletes it is without it."""
        known = held | self.elsewhere
        left = [name for name in self.carry if self.prefix + name in known]
        if left:
            self.carry = [name for name in self.carry if self.prefix + name not in known]
            self.notes.append(f"ignored by git, and yet in commits, so not taken over: {listed(left)}")

    def _facts(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "kind": self.kind,
            "prefix": self.prefix,
            # Where the files to carry lie: names in `carry` begin with "sglang/".
            "carry_from": str(self.top / ("" if self.kind == "copy" else self.prefix)) if self.top else None,
            "carry": self.carry[:MOST_CARRIED],
            "lfs": str(self.store) if self.store else None,
        }
