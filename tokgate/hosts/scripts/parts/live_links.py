"""What a side only links to, in the checkout: hashed by its content, since anyone may change it while servers run from it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tokgate.hosts.scripts.parts.git_calls import Git
from tokgate.hosts.scripts.parts.tree_files import (
    MOST_BYTES,
    Reader,
    blob_id,
    file_digest,
    walk,
)

NAMED = 5


def record(root: Path, home: Path, links: Iterable[str], copies: Iterable[str]) -> None:
    """Write down, beside the side's root, what each link leads to now, and what was copied. Names: from "sglang/" on."""
    found = {
        "links": {name: state(home / name) for name in links},
        "copies": {name: state(home / name) for name in copies},
    }
    _place(root).write_text(json.dumps(found, sort_keys=True))


def recorded(root: Path) -> dict[str, dict[str, str]]:
    """Return "links" and "copies" of a side, each with what it was when it was made; of what is no side's root, none."""
    try:
        told = json.loads(_place(root).read_text())
        return {
            kind: {str(name): str(was) for name, was in told[kind].items()} for kind in ("links", "copies")
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {"links": {}, "copies": {}}


def moved(root: Path, home: Path) -> list[str]:
    """Return the links whose content is not what it was when the side was made."""
    return [name for name, was in recorded(root)["links"].items() if state(home / name) != was]


def state(link: Path) -> str:
    """Return the sha256 of what a link leads to, a file or all files of a folder; of files beyond 64 MiB, of their facts."""
    whole = hashlib.sha256()
    target = Path(os.path.realpath(link))
    for name in walk(target) if target.is_dir() else ("",):
        path = target / name if name else target
        whole.update(os.fsencode(name) + b"\0" + _facts(path) + file_digest(path) + b"\0")
    return whole.hexdigest()


def _facts(path: Path) -> bytes:
    try:
        status = os.lstat(path)
    except OSError:
        return b""
    large = stat.S_ISREG(status.st_mode) and status.st_size > MOST_BYTES
    return f"{status.st_mtime_ns} {status.st_ino} ".encode() if large else b""


def odd_submodule(home: Path, folder: Path, pinned: str) -> str | None:
    """Say in what a submodule's checkout is not the commit that it is pinned to; None: it is that, or cannot be asked."""
    if not (folder / ".git").exists():
        return None  # git would answer for the repository around it
    git = Git(home, "-C", str(folder))
    at = git.try_text("rev-parse", "--verify", "HEAD")
    if at is None:
        return None
    if at != pinned:
        return f"is at {at[:12]}, and pinned to {pinned[:12]}"
    reader, algorithm = Reader(folder), "sha256" if len(at) == 64 else "sha1"  # hex digits
    for row in git.names("ls-tree", "-r", "-z", "--full-tree", at):
        facts, _, name = row.partition("\t")
        mode, _, identifier = facts.split()
        if mode == "160000" or reader.too_large(name):
            continue
        content = reader.read(name)
        if content is None or blob_id(content, algorithm) != identifier:
            return f"has changes that are not committed, {name} among them"
    return None


def _place(root: Path) -> Path:
    return root.parent / f"{root.name}.links"
