"""Files of a tree that may be anyone's: read without following a link, bounded, and written into git as they are."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from tokgate.hosts.scripts.parts.git_calls import Git

# The largest source of SGLang has 1 MB. What is larger than this is no source, and nobody's patch.
MOST_BYTES = 64 << 20
CACHES = ("__pycache__",)
_PIECE = 1 << 20


class Content(NamedTuple):
    """What git would keep of one file: "100644", "100755" or "120000" (a link), and its bytes."""

    mode: str
    data: bytes


def opened(path: Path) -> IO[bytes]:
    """Open what was a regular file when it was looked at: no link is followed by now, and no pipe waited for."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


class Reader:
    """Reads below `root`; a folder on the way that is a link, or leads out, is no way."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._real: dict[str, bool] = {"": True}

    def inside(self, name: str) -> bool:
        """Say whether every folder on the way to `name` is a real one below the root."""
        parent = name.rpartition("/")[0]
        if parent not in self._real:
            last = parent.rpartition("/")[2]
            real = self.inside(parent) and last not in ("", ".", "..", ".git")
            try:
                self._real[parent] = real and stat.S_ISDIR(os.lstat(self.root / parent).st_mode)
            except OSError:
                self._real[parent] = False
        return self._real[parent]

    def read(self, name: str) -> Content | None:
        """Return a file's content, a link's target; None: there is nothing that git would keep, or it is too large."""
        if not self.inside(name) or name.rpartition("/")[2] in ("", ".", "..", ".git"):
            return None
        path = self.root / name
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                return Content("120000", os.fsencode(path.readlink()))
            if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                return None
            # Between the look and the reading it may have become a link or a pipe.
            with opened(path) as file:
                data = file.read(MOST_BYTES + 1)
        except OSError:
            return None
        mode = "100755" if status.st_mode & 0o100 else "100644"
        return Content(mode, data) if len(data) <= MOST_BYTES else None

    def too_large(self, name: str) -> bool:
        try:
            status = os.lstat(self.root / name)
        except OSError:
            return False
        return stat.S_ISREG(status.st_mode) and status.st_size > MOST_BYTES


def walk(root: Path) -> Iterator[str]:
    """Yield every file and link below `root`, relative, sorted; caches of compiled modules and git's own left out."""
    stack: list[str] = [""]
    while stack:
        folder = stack.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda e: e.name)
        except OSError:
            continue
        below = []
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in CACHES and entry.name.lower() != ".git":
                    below.append(name)
            elif not entry.name.endswith(".pyc"):
                yield name
        stack += reversed(below)


def blob_id(content: Content, algorithm: str) -> str:
    """Return what git calls this content."""
    return hashlib.new(algorithm, b"blob %d\0" % len(content.data) + content.data).hexdigest()


def commit(
    git: Git,
    name: str,
    *,
    start: str | None,
    files: Iterable[tuple[str, Content]],
    gone: Iterable[str] = (),
) -> str:
    """Write a commit of exactly these bytes; no filter and no attribute has a say. Return its id.

    `start`: the commit that it changes, None for one of these files alone; `gone`: what it no longer has.
    """
    reference = f"refs/tokgate/{name}"
    with tempfile.TemporaryFile(dir=str(git.home)) as stream:
        stream.write(f"commit {reference}\ncommitter tokgate <tokgate> 0 +0000\ndata 0\n".encode())
        if start is not None:
            stream.write(f"from {start}\n".encode())
        for path in gone:
            stream.write(b"D " + _quoted(path) + b"\n")
        for path, content in files:
            stream.write(
                b"M %s inline %s\ndata %d\n" % (content.mode.encode(), _quoted(path), len(content.data))
            )
            stream.write(content.data + b"\n")
        stream.seek(0)
        git("fast-import", "--quiet", "--force", "--depth=0", data=stream)
    return git.text("rev-parse", "--verify", reference)


def _quoted(path: str) -> bytes:
    raw = os.fsencode(path)
    for plain, quoted in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        raw = raw.replace(plain, quoted)
    return b'"' + raw + b'"'


def tree_hash(root: Path) -> str:
    """Return the sha256 over names and contents of all files below `root`; of a link its target's name."""
    whole = hashlib.sha256()
    for name in walk(root):
        whole.update(os.fsencode(name) + b"\0" + file_digest(root / name) + b"\0")
    return whole.hexdigest()


def file_digest(path: Path) -> bytes:
    """Return a digest of one file's content, or words for what is no file that can be read."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return b"link " + os.fsencode(path.readlink())
        if not stat.S_ISREG(status.st_mode):
            return b"no file"
        found = hashlib.sha256(b"x" if status.st_mode & 0o100 else b"-")
        with opened(path) as file:
            if status.st_size > MOST_BYTES:
                # Whole libraries take seconds: their size, time, first and last piece tell as much as is needed.
                found.update(f"{status.st_size} {status.st_mtime_ns}".encode() + file.read(_PIECE))
                file.seek(-_PIECE, os.SEEK_END)
            while piece := file.read(_PIECE):
                found.update(piece)
    except OSError as error:
        return f"unreadable {error.errno}".encode()
    return found.digest()
