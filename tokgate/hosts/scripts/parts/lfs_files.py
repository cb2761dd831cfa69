"""Files of which git keeps a pointer and git-lfs the content: told apart by the sha256 that the pointer names."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from tokgate.hosts.scripts.parts.git_calls import Git
from tokgate.hosts.scripts.parts.tree_files import opened

# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: UTF-8, less than 1024 bytes, "version" first.
_POINTER = b"version https://git-lfs.github.com/spec/"
_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
MOST_POINTER = 1024
_PIECE = 1 << 20


def oid_of(data: bytes) -> str | None:
    """Return the sha256 of the content that a pointer stands for; None: it is no pointer."""
    if len(data) > MOST_POINTER or not data.startswith(_POINTER):
        return None
    found = _OID.search(data)
    return found[1].decode() if found else ""  # a pointer to what cannot be known: no content is it


def pointers(home: Path, places: Iterable[str]) -> dict[str, str]:
    """Return the pointers in these places of a folder, by their names from it on, with their oids."""
    found = {}
    inside = (path for place in places for path in (home / place).rglob("*"))
    for path in sorted(inside):
        data = _small(path)
        oid = oid_of(data) if data is not None else None
        if oid is not None:
            found[path.relative_to(home).as_posix()] = oid
    return found


def is_content(path: Path, oid: str) -> bool:
    """Say whether a regular file is what a pointer stands for, byte for byte."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with opened(path) as file:
            return _sha256(file) == oid
    except OSError:
        return False


def store_of(theirs: Git) -> Path:
    """Return where git-lfs keeps the objects of a checkout."""
    common = Path(theirs.text("rev-parse", "--path-format=absolute", "--git-common-dir"))
    named = theirs.try_text("config", "--type=path", "--get", "lfs.storage")
    return common / (named or "lfs") / "objects"


def held(store: Path, oid: str) -> Path | None:
    """Return the object of this oid, where git-lfs has it and it is whole."""
    path = store / oid[:2] / oid[2:4] / oid
    return path if oid and is_content(path, oid) else None


def _small(path: Path) -> bytes | None:
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_POINTER:
            return None
        with opened(path) as file:
            return file.read(MOST_POINTER + 1)
    except OSError:
        return None


def _sha256(file: IO[bytes]) -> str:
    whole = hashlib.sha256()
    while piece := file.read(_PIECE):
        whole.update(piece)
    return whole.hexdigest()
