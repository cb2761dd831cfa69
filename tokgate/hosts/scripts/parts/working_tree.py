"""A working tree as it lies, what is not committed and what is not tracked included, as a commit of the gate's own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from tokgate.hosts.scripts.parts.git_calls import Git, shown
from tokgate.hosts.scripts.parts.lfs_files import MOST_POINTER, oid_of
from tokgate.hosts.scripts.parts.looked_up import BUILT, others, sparse, working_index
from tokgate.hosts.scripts.parts.neighbours import PACKAGE, neighbours, untracked
from tokgate.hosts.scripts.parts.tree_files import Content, Reader, blob_id, commit

NAMED = 5


class Tracked(NamedTuple):
    mode: str
    id: str
    bytes: int


class Taken(NamedTuple):
    """`commit` is the one that it lies on where nothing differs."""

    commit: str
    tree: str | None  # with what is not committed; None: nothing
    notes: tuple[str, ...]


def take(git: Git, theirs: Git, top: Path, start: str, prefix: str) -> Taken:
    """Return the working tree at `top`, which lies on the commit `start`.

    Nothing is asked of their index but which files a sparse checkout leaves out. Files that differ are read as they
    are, without a filter: the content that a pointer of git-lfs stands for is no change, any other is one.
    """
    tracked = _tracked(git, start)
    index = working_index(git, theirs, top, start)
    algorithm = "sha256" if len(start) == 64 else "sha1"  # hex digits
    left_out = sparse(theirs)
    keep_mode = theirs.try_text("config", "--type=bool", "--get", "core.fileMode") == "false"
    reader = Reader(top)
    changed: list[tuple[str, Content]] = []
    gone: list[str] = []
    notes: list[str] = []
    large: list[str] = []
    for name, was in tracked.items():
        if was.mode == "160000":
            continue
        content = reader.read(name)
        if content is None:
            if reader.inside(name) and reader.too_large(name):
                large.append(name)
            elif name not in left_out:
                gone.append(name)
            continue
        if keep_mode and content.mode in ("100644", "100755") and was.mode in ("100644", "100755"):
            content = content._replace(mode=was.mode)
        if content.mode == was.mode and blob_id(content, algorithm) == was.id:
            continue
        if _pointed(git, was) != hashlib.sha256(content.data).hexdigest():
            changed.append((name, content))
    places = (PACKAGE, *neighbours(git, start, prefix).values(), *untracked(index, prefix).values())
    for name in others(index, prefix, places):
        if name.endswith(BUILT):
            continue  # carried to every side, as what git ignores is
        if name.endswith("/"):
            notes.append(f"{shown(name)} is a repository of its own, not part of this one: left out")
            continue
        content = reader.read(name)
        if content is not None:
            changed.append((name, content))
        elif reader.too_large(name):
            large.append(name)
    if large:
        notes.append(
            f"too large for sources, left as committed: {', '.join(shown(n) for n in large[:NAMED])}"
        )
    if not (changed or gone):
        return Taken(start, None, tuple(notes))
    made = commit(git, "uncommitted", start=start, files=changed, gone=gone)
    return Taken(made, git.text("rev-parse", f"{made}^{{tree}}"), tuple(notes))


def _tracked(git: Git, start: str) -> dict[str, Tracked]:
    found = {}
    for row in git.names("ls-tree", "-r", "-l", "-z", "--full-tree", start):
        facts, _, name = row.partition("\t")
        mode, _, identifier, size = facts.split()
        found[name] = Tracked(mode, identifier, int(size) if size.isdecimal() else 0)
    return found


def _pointed(git: Git, was: Tracked) -> str | None:
    """Return the sha256 of the content of which git keeps a pointer in place of the file; None: it keeps the file."""
    return oid_of(git("cat-file", "blob", was.id)) if was.bytes <= MOST_POINTER else None
