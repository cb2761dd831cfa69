"""Lists the plain files below a folder: [path, bytes] each, by path."""

from __future__ import annotations

import os


def main(argument: str) -> list[list[object]]:
    found = []
    for folder, _, names in os.walk(argument):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - Python 3.9 on any host
            if os.path.isfile(path) and not os.path.islink(path):  # noqa: PTH113, PTH114
                found.append([path, os.path.getsize(path)])  # noqa: PTH202
    return sorted(found)
