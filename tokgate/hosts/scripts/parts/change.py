"""A change that is being looked at: its steps as commits of the gate's own repository, and what every side of it has beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.git_calls import Git, shown
from tokgate.hosts.scripts.parts.links_out import check_links
from tokgate.hosts.scripts.parts.looked_up import differing, held_by_no_commit, touched, tracked, unit
from tokgate.hosts.scripts.parts.neighbours import (
    PACKAGE,
    below,
    module_of,
    neighbours,
    of_names,
    refuse_outside,
)
from tokgate.hosts.scripts.parts.patching import Patcher, Way
from tokgate.hosts.scripts.parts.side_rules import check, dependencies, listed

MOST_CARRIED = 2000


class Change:
    """Filled by whoever looks at a repository or an installed package; then `with_patches` or `answer`."""

    def __init__(self, folder: Path, asked: dict[str, Any]) -> None:
        self.folder = folder
        self.asked = asked
        self.notes: list[str] = []
        self.top: Path | None = None  # the working tree that things are carried over from
        self.index: Git | None = None  # over that tree, with the commit that it lies on
        self.carry: list[str] = []  # names from "sglang/" on
        self.checked_out: str | None = None  # the commit that the working tree lies on
        self.store: Path | None = None  # where git-lfs keeps the checkout's objects
        self.git: Git
        self.source: str
        self.kind: str
        self.prefix: str

    def with_patches(self, tree: str, *, lies_on: str | None = None) -> dict[str, Any]:
        """Patches on top of `tree`, or taken out of it where they are in it; the rig's required ones below them all.

        `lies_on`: the commit of theirs that all of it lies on; None: of no repository.
        """
        patcher, found_in = self.patcher(), []
        for patch in self.asked["required"]:
            if patcher.is_in(tree, patch):
                found_in.append(patch["name"])
            else:
                tree, way = patcher.apply(tree, patch)
                self._left_out(patch, way)
        patches = self.asked["patches"]
        steps, units = [tree], []
        order = list(reversed(patches)) if self.asked["applied"] else patches
        for patch in order:
            made, way = patcher.apply(steps[-1], patch, reverse=self.asked["applied"])
            self._left_out(patch, way)
            steps.append(made)
            units.append(unit(shown(patch["name"]), "patch", patch["sha256"], list(way.names)))
        if self.asked["applied"]:
            steps, units = steps[::-1], units[::-1]
        dirty: list[str | None] = [None] * len(steps)
        if lies_on is not None and self.asked["applied"]:
            clean, *trees = (self.git.text("rev-parse", f"{one}^{{tree}}") for one in (lies_on, *steps))
            dirty = [None if one == clean else one for one in trees]
        return self.answer(steps, units, commits=[lies_on] * len(steps), dirty=dirty, required_in=found_in)

    def _left_out(self, patch: dict[str, Any], way: Way) -> None:
        if not way.outside:
            return
        if self.top is not None and self.kind == "copy":
            refuse_outside(patch["name"], way.outside, self.top)
        self.notes.append(
            f"{shown(patch['name'])}: {len(way.outside)} files outside the package are left out: {listed(way.outside)}"
        )

    def patcher(self) -> Patcher:
        return Patcher(self.git, self.folder, self.prefix, package_only=self.kind == "copy")

    def answer(
        self,
        steps: list[str],
        units: list[dict[str, Any]],
        *,
        commits: list[Any],
        dirty: list[Any],
        required_in: list[str] | None = None,
    ) -> dict[str, Any]:
        ends = (steps[0], steps[-1])
        changed, moving = differing(self.git, *ends), touched(self.git, steps)
        beside = self._beside(ends, moving)
        places = [PACKAGE, *beside]
        if self.asked["question"] is not None:
            check(changed, self.prefix, self.git, ends, places)
            self.notes += dependencies(changed, self.prefix, self.git, *ends)
        self.notes += check_links(self.git, ends, self.prefix, places, self.top)
        if self.index is not None:
            self.carry = held_by_no_commit(self.index, self.prefix, places)
        held = moving | tracked(self.git, steps[0], self.prefix, places)
        if self.checked_out is not None:
            held |= tracked(self.git, self.checked_out, self.prefix, places)
        self._carry_no_commits_file(held)
        return {
            **self.facts(),
            "beside": [
                {
                    "name": module_of(place),
                    "place": place,
                    "differs": [shown(path) for path in sorted(moving) if below(path, self.prefix, [place])][
                        :3
                    ],
                }
                for place in beside
            ],
            "touched": sorted(n[len(self.prefix) :] for n in moving if below(n, self.prefix, places)),
            "steps": steps,
            "units": units,
            "commits": commits,  # of the repository that was looked at, which each step lies on
            "dirty": dirty,
            # None: each side has them applied, or finds them, when it is made.
            "required_in": required_in,
            "notes": [shown(note, 600) for note in self.notes],
        }

    def _beside(self, ends: tuple[str, str], moving: set[str]) -> list[str]:
        """Return the files and folders beside the package that any step has, and Python imports."""
        if self.kind == "copy":
            return []
        found = {place for end in ends for place in neighbours(self.git, end, self.prefix).values()}
        return sorted(found | (set(of_names(moving, self.prefix).values()) if self.prefix else set()))

    def _carry_no_commits_file(self, known: set[str]) -> None:
        """Leave out of `carry` what a commit of the change has, though git ignores it: a side that deletes it is without it."""
        left = [name for name in self.carry if self.prefix + name in known]
        if left:
            self.carry = [name for name in self.carry if self.prefix + name not in known]
            self.notes.append(f"ignored by git, and yet in commits, so not taken over: {listed(left)}")
        if len(self.carry) > MOST_CARRIED:
            self.notes.append(
                f"of {len(self.carry)} files that no commit holds the first {MOST_CARRIED} are taken over: {listed(self.carry[MOST_CARRIED:])} "
                "are not"
            )

    def facts(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "kind": self.kind,
            "prefix": self.prefix,
            # Where the files to carry lie: names in `carry` begin with "sglang/", or with what lies beside it.
            "carry_from": str(self.top / ("" if self.kind == "copy" else self.prefix)) if self.top else None,
            "carry": self.carry[:MOST_CARRIED],
            "lfs": str(self.store) if self.store else None,
        }
