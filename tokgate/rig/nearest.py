"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from tokgate.rig.spelling import spell


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None when nothing is close.

    Capitals and `-` for `_` count for nothing: they are the commonest slips in a rig.
    """
    folded = {_fold(k): k for k in known}
    close = difflib.get_close_matches(_fold(name), folded, n=1, cutoff=0.5)
    return folded[close[0]] if close else None


def known_names(name: str, known: Iterable[str]) -> str:
    """Words for an error: the nearest name if there is one, else all of them."""
    names = list(known)
    if (close := nearest(name, names)) is not None:
        return f"nearest known name: {spell(close)}"
    return "known names: " + ", ".join(names) if names else "there are none"


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")
