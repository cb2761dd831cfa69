"""The sides of one session: SGLang as it was, SGLang with a change, and whatever lies between; each a tree on the host."""

from __future__ import annotations

from typing import Literal

from .record import Record, Whole

BASE = "base"  # what a change is held against
HEAD = "head"  # the change as a whole: what the session is about
WITHOUT = "without-"  # the whole change but one unit of it: "without-3"
UPTO = "upto-"  # a part of the change: "upto-3" is the base with its first three units


def upto(count: int, total: int) -> str:
    """Return the name of the side that has the first `count` of a change's `total` units."""
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} units")
    return BASE if count == 0 else HEAD if count == total else f"{UPTO}{count}"


class Unit(Record):
    """One step of a change, in the order in which they are applied: a commit, a patch file, or what is not committed."""

    name: str  # "a1b2c3d4e5 verify: count drafts", "0003-probe.patch", "uncommitted changes"
    kind: Literal["commit", "patch", "uncommitted"]
    id: str  # commit, or sha256 of the patch, or the hash of the tree that has what is not committed
    files: tuple[str, ...] = ()  # that it changes, relative to the tree's root


class SideState(Record):
    """One tree, made for this session, as it was before the first of its servers was started."""

    name: str  # BASE, HEAD, or "upto-3": the first three units
    kind: Literal[
        "worktree", "copy", "installed"
    ]  # of a repository; of an installed package; that package itself
    root: str  # folder on the host that stands in front of PYTHONPATH
    source: str  # the repository or the installed package, on the host
    ref: str | None = None  # as asked for; None: nobody named one
    commit: str | None = None
    dirty: str | None = (
        None  # hash of the tree with what is not committed, untracked files too; None: nothing
    )
    version: str | None = None  # of SGLang, as its files have it in writing
    units: tuple[Unit, ...] = ()  # on top of the base
    required: tuple[Unit, ...] = ()  # the rig's own, on every side
    changed: tuple[str, ...] = ()  # files that differ from the base, relative to the tree's root
    tree: str  # sha256 over names and contents of all that Python imports
    beside: tuple[str, ...] = ()  # files and folders that it serves beside the package sglang
    carried: tuple[str, ...] = ()  # built files that no commit holds, taken over unchanged
    notes: tuple[str, ...] = ()


class SidesMade(Record):
    """What lies in sides.json of a run folder."""

    units: tuple[Unit, ...] = ()  # all of the change, in order
    sides: tuple[SideState, ...] = ()
    seconds: float | None = None  # that making them took
    imported: tuple[str, ...] = ()  # places of the tree that servers import from: "python/sglang/"
    run_id: str | None = None  # the run that they were made for; None: an older tokgate did not say
    asked: str | None = None  # sha256 of what its rig asked for: the change, required patches
    notes: tuple[str, ...] = ()  # on the change as a whole

    def side(self, name: str) -> SideState | None:
        return next((one for one in self.sides if one.name == name), None)


class SideProof(Record):
    """Whether one launch ran the side that it should have run; part of its launch.json."""

    side: str
    root: str
    processes: Whole  # of the server's tree that had the root in front in PYTHONPATH
    without: tuple[str, ...] = ()  # those that had it not, or did not show: "scheduler TP0: absent"
    resolved: str | None = None  # where the server's Python finds sglang with that path; None: `why`
    compiled: Whole | None = (
        None  # modules of the side that the interpreter compiled; None: it keeps no such files
    )
    changed_imported: tuple[str, ...] = ()  # changed files that this side's servers imported
    changed_unused: tuple[str, ...] = ()  # changed files that none has imported so far
    tree: str | None = None  # the side's hash when the launch was over; None: it could not be read
    why: tuple[str, ...] = ()  # what speaks against it, in words; empty: it is proven

    @property
    def proven(self) -> bool:
        return not self.why
