"""A run folder that is asked for again is read once, as long as nothing that is read there has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokgate.records import RunEvidence
from tokgate.rig.models import Rig

from .run_folder import load_run

# Path, bytes and time of change of every file.
_State = tuple[tuple[str, int, int], ...]
_latest: dict[Path, tuple[_State, tuple[RunEvidence, Rig]]] = {}


def load_once(folder: Path) -> tuple[RunEvidence, Rig]:
    """Read a run folder back as `load_run` does; the latest one is remembered. UsageError as there."""
    state = tuple(sorted(_files(folder)))
    known = _latest.get(folder)
    if known is None or known[0] != state:
        read = load_run(folder)
        _latest.clear()
        known = _latest[folder] = (state, read)
    return known[1]


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Evidence lies in folders of launches and in files that no report is named after."""
    for path in (*folder.glob("*.json"), *folder.glob("*.jsonl"), *folder.glob("launches/*/**/*")):
        told = path.lstat()
        yield str(path), told.st_size, told.st_mtime_ns
