"""What lies in a run folder, for a list that stays short: crowded folders are counted, not listed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_MOST_PER_FOLDER = 24
_MOST = 400


@dataclass(frozen=True)
class RawFile:
    path: str  # relative to the run folder; ends in / for a counted folder
    size: int  # bytes, of a counted folder all of its files together
    files: int = 1


def raw_files(folder: Path) -> tuple[RawFile, ...]:
    """Return the files of `folder`, sorted; symbolic links and hidden files are left out."""
    found: list[RawFile] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        here = Path(parent)
        sizes = {
            name: (here / name).stat().st_size
            for name in sorted(names)
            if not name.startswith(".") and not (here / name).is_symlink()
        }
        relative = here.relative_to(folder).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        if len(sizes) > _MOST_PER_FOLDER and prefix:
            found.append(RawFile(prefix, sum(sizes.values()), len(sizes)))
        else:
            found += [RawFile(prefix + name, size) for name, size in sizes.items()]
        if len(found) > _MOST:
            break
    return tuple(found[:_MOST])
