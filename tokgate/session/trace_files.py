"""Traces as files: where they lie, whose they are, what is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from . import plain_files

FOLDER = "profile"  # of the launch, on the host and in the run folder
# Between two looks at the clock. A packed piece unpacks to a thousand times as much at most: a second's reading.
PIECE = 1 << 16
_RANK = re.compile(r"-TP-([0-9]{1,4})")


def rank_in(name: str) -> int | None:
    """Return the rank that a trace's file is named after."""
    named = _RANK.search(name)
    return int(named[1]) if named else None


def pieces_of(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes. A server may take its trace away again: then it is torn."""
    with suppress(OSError):
        yield from plain_files.pieces_of(path, piece=PIECE)
