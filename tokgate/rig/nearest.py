"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from tokgate.rig.spelling import spell


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None when nothing is close.

    Capitals and `-` for `_` count for nothing: they are the commonest slips in a rig.
    """
    return next(iter(nearest_names(name, known, most=1, likeness=0.5)), None)


def nearest_names(
    name: str, known: Iterable[str], *, most: int = 3, likeness: float = 0.75
) -> tuple[str, ...]:
    """Return up to `most` known names close to `name`, the closest first; `likeness` is from 0 to 1."""
    folded = {_fold(k): k for k in known}
    close = difflib.get_close_matches(_fold(name), folded, n=most, cutoff=likeness)
    return tuple(folded[c] for c in close)


def known_names(name: str, known: Iterable[str]) -> str:
    """Words for an error: the nearest name if there is one, else all of them."""
    names = list(known)
    if (close := nearest(name, names)) is not None:
        return f"nearest known name: {spell(close)}"
    return "known names: " + ", ".join(names) if names else "there are none"


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")
