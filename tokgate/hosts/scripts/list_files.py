"""Lists the plain files below a folder, at most MOST of them: [path, bytes] each, by path; ends where the folder is a link."""

from __future__ import annotations

import os
import stat
import sys

MOST = 20_000


def main(argument: str) -> list[list[object]]:
    if os.path.islink(argument):  # noqa: PTH114 - Python 3.9 on any host
        # Whoever may write beside the folder could else have any file of the machine copied.
        sys.exit(f"{argument} is a link")
    found: list[list[object]] = []
    for folder, _, names in os.walk(argument):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            try:
                about = os.lstat(path)
            except OSError:
                continue  # gone meanwhile
            if stat.S_ISREG(about.st_mode):
                found.append([path, about.st_size])
        if len(found) >= MOST:
            break
    return sorted(found[:MOST])
