"""Writes the file argv[1] to stdout; exit 44 says that there is no such file, which cat cannot.

With argv[2] no more than so many bytes, of a regular file that is no link and lies in no linked folder.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import BinaryIO


def main() -> None:
    try:
        if len(sys.argv) > 2:
            with plain(sys.argv[1]) as file:
                copy(file, int(sys.argv[2]))
        else:
            with Path(sys.argv[1]).open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    except (FileNotFoundError, NotADirectoryError):
        sys.exit(44)
    except OSError as error:
        sys.exit(str(error))


def plain(path: str) -> BinaryIO:
    """Open a regular file; OSError for a link, a pipe, a device, and where the folder is a link."""
    folder, name = os.path.split(path)
    within = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within)
    finally:
        os.close(within)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError("it is no regular file")
    return os.fdopen(opened, "rb")


def copy(file: BinaryIO, left: int) -> None:
    while left > 0:
        piece = file.read(min(left, 1 << 20))
        if not piece:
            return
        sys.stdout.buffer.write(piece)
        left -= len(piece)


if __name__ == "__main__":
    main()
