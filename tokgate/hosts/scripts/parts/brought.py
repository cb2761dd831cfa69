"""What a side gets from the checkout beside its commit: files that no commit holds, git-lfs's content, submodules."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any, NamedTuple

from tokgate.hosts.scripts.parts.git_calls import Git, Refused, shown
from tokgate.hosts.scripts.parts.lfs_files import held, is_content, oid_of, pointers
from tokgate.hosts.scripts.parts.live_links import odd_submodule
from tokgate.hosts.scripts.parts.looked_up import submodules
from tokgate.hosts.scripts.parts.side_rules import listed
from tokgate.hosts.scripts.parts.tree_files import Reader

# A larger built file is linked: a copy for each side takes disk and time for what nobody changes.
MOST_COPIED = 16 << 20


class Carried(NamedTuple):
    """Names from "sglang/" on; what is neither linked nor copied is a link of the checkout's own."""

    names: list[str]
    linked: list[str]  # for their size
    copied: list[str]


def carry(argument: dict[str, Any], home: Path) -> Carried:
    """Take over what no commit holds, built files and generated ones.

    `home`: where the package sglang lies. Refused: one of them is there no more, so that the sides would not be alike.
    """
    if argument["carry_from"] is None:
        return Carried([], [], [])
    source, target = Path(argument["carry_from"]), home
    found, gone = Carried([], [], []), []
    lacks = [
        one for one in argument["places"] if not os.path.lexists(home / one)
    ]  # this side has no such package
    for name in argument["carry"]:
        old, new = source / name, target / name
        status = os.lstat(old) if real(source, name) and os.path.lexists(old) else None
        if os.path.lexists(new) or not real(target, name) or name.split("/")[0] in lacks:
            continue
        if status is None:
            gone.append(name)
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(status.st_mode):
            new.symlink_to(old.parent / old.readlink())
        elif not stat.S_ISREG(status.st_mode):
            continue
        else:
            (found.linked if bring(old, new) else found.copied).append(name)
        found.names.append(name)
    if gone:
        raise Refused(
            f"what every side takes over from {shown(str(source))} is not there any more: {listed(gone)}",
            "leave the checkout alone while it is measured: build what is missing there again, then run the same again",
        )
    return found


def bring(old: Path, new: Path) -> bool:
    """Copy a file, or link to it for its size. Return whether it is linked."""
    if os.lstat(old).st_size > MOST_COPIED:
        new.symlink_to(old)
        return True
    shutil.copy2(str(old), str(new), follow_symlinks=False)
    return False


def fill_pointers(
    argument: dict[str, Any], home: Path, _git: Git, _commit: str
) -> tuple[list[str], list[str], list[str]]:
    """Put content in the place of git-lfs's pointers: that which this side's pointer names, and no other.

    Refused: it is nowhere, and a server of this side would read something else than it should.
    """
    source, target = Path(argument["carry_from"] or "/nowhere"), home
    carried, linked, left = [], [], []
    for name, oid in pointers(home, argument["places"]).items():
        old, new = source / name, target / name
        if not (real(source, name) and is_content(old, oid)):
            stored = held(Path(argument["lfs"]), oid) if argument["lfs"] else None
            if stored is None:
                if matters(argument, name, oid):
                    raise Refused(
                        f"{shown(name)} is kept by git-lfs, and the content of this side's ({oid[:12]}) is neither in the "
                        "working tree nor among the objects that git-lfs has fetched there",
                        "run `git lfs fetch --all` in the checkout: the gate fetches nothing",
                    )
                left.append(name)
                continue
            old = stored
        new.unlink()
        if bring(old, new):
            linked.append(name)
        carried.append(shown(name))
    notes = [f"pointers of git-lfs without their content: {listed(left)}"] if left else []
    if linked:
        notes.append(f"linked, not copied, for their size: {listed(linked)}")
    return carried, linked, notes


def matters(argument: dict[str, Any], name: str, oid: str) -> bool:
    """Say whether a pointer must not stay: it would not where it is the same on all sides and nobody has fetched its content."""
    if name.startswith("sglang/test/"):
        return False
    if name in argument["touched"]:
        return True
    reader = Reader(Path(argument["carry_from"] or "/nowhere"))
    there = reader.read(name)
    return reader.too_large(name) if there is None else oid_of(there.data) != oid


def link_submodules(
    argument: dict[str, Any], home: Path, git: Git, commit: str
) -> tuple[list[str], list[str], list[str]]:
    """Let the repositories inside the package be what is checked out of them: git leaves empty folders."""
    linked, notes = [], []
    for name, pinned in submodules(git, commit, argument["prefix"], argument["places"]).items():
        old, new = Path(argument["carry_from"] or "/nowhere") / name, home / name
        if (
            real(Path(argument["carry_from"] or "/nowhere"), f"{name}/x")
            and old.is_dir()
            and real(home, name)
        ):
            if new.is_dir() and not new.is_symlink():
                new.rmdir()
            new.symlink_to(old)
            linked.append(name)
            if (odd := odd_submodule(Path(argument["folder"]), old, pinned)) is not None:
                notes.append(f"{shown(name)}, which every side links to, {shown(odd)}")
    return [shown(name) for name in linked], linked, notes


def real(root: Path, name: str) -> bool:
    """Say whether no folder on the way is a link: nothing is read or written through one."""
    parts = name.split("/")
    if any(part in ("", ".", "..", ".git") for part in parts):
        return False
    way = root
    for part in parts[:-1]:
        way = way / part
        if way.is_symlink():
            return False
    return True
