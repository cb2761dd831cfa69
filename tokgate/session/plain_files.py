"""Regular files, read within a bound: a run folder may come from anywhere, and a pipe is waited for for ever."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

R = TypeVar("R", bound=BaseModel)
MOST_RECORD = 1 << 20  # bytes of a small record; a longer one is none of ours
PIECE = 1 << 20


def pieces_of(path: Path, *, most: int | None = None, piece: int = PIECE) -> Iterator[bytes]:
    """Yield a file's bytes, `most` of them. OSError: it cannot be read, or is no regular file."""
    left = most
    with _opened(path) as file:
        while (left is None or left > 0) and (read := file.read(piece if left is None else min(piece, left))):
            left = None if left is None else left - len(read)
            yield read


def bytes_of(path: Path, *, most: int) -> bytes:
    """Return a whole file. OSError: it cannot be read, is no regular file, or has more than `most` bytes."""
    found = b"".join(pieces_of(path, most=most + 1))
    if len(found) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes")
    return found


def record_of(path: Path, kind: type[R]) -> R | None:
    """Return a small record; None where there is none that can be read."""
    try:
        return kind.model_validate_json(bytes_of(path, most=MOST_RECORD))
    except (OSError, ValidationError):
        return None


def text_of(path: Path, *, most: int) -> str | None:
    """Return the beginning of a text, `most` bytes of it, every line ended by a newline; None where it cannot be read."""
    try:
        text = b"".join(pieces_of(path, most=most)).decode("utf-8", "backslashreplace")
    except OSError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _opened(path: Path) -> BinaryIO:
    # Without O_NONBLOCK opening a pipe waits for its writer; of a regular file it changes nothing.
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "it is no regular file")
    return os.fdopen(opened, "rb")
