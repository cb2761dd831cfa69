"""Writes one byte into a file that is there, and into nothing else: [path, byte] -> why it was not written, or None.

Never through a link, never into a pipe or a device, and no file is made: the probe has its switch open.
"""

from __future__ import annotations

import os
import stat


def main(argument: list[str]) -> str | None:
    path, byte = argument
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return f"{path}: it is no regular file"
            os.pwrite(opened, byte.encode(), 0)
        finally:
            os.close(opened)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return None
