"""One writer of baselines at a time: two updates that each read, add and write would lose what the first added."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tokgate.errors import BaselineError

# Beside baselines/, not in it: whoever is refused leaves nothing there. Gone again when nobody writes.
NAME = ".tokgate-baselines.lock"


@contextmanager
def writing(root: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the baselines below `root`; what is read and written within is of one piece.

    Waits for another writer, of which `waiting` is told. A writer that was killed holds nothing: the lock is the
    process's, the file is only its name. BaselineError: the folder takes no lock.
    """
    path = root / NAME
    try:
        opened = _held(path, waiting)
    except OSError as error:
        raise BaselineError(
            tried=f"hold the baselines of {root} against other writers",
            found=f"{path}: {error.strerror or error}",
            do="make the folder writable, or use another checkout: tokgate --root PATH …",
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: nobody else can hold this file any more
        os.close(opened)


def _held(path: Path, waiting: Callable[[], None]) -> int:
    """Return the open file, locked, that has the name now: the one of a writer that has left has it no more."""
    told = False
    while True:
        # Over NFS a lock takes a file that is open for writing, which a folder cannot be.
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not told:
                    waiting()
                    told = True
                fcntl.flock(opened, fcntl.LOCK_EX)
            if _has_the_name(opened, path):
                return opened
        except BaseException:
            os.close(opened)
            raise
        os.close(opened)


def _has_the_name(opened: int, path: Path) -> bool:
    try:
        named = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    own = os.fstat(opened)
    return (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)
