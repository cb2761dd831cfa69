"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

import difflib
import re
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


def misspelt(name: str, machines: Iterable[str]) -> str | None:
    """Return the machine whose name this is but for a slip, or None: of machines a neighbour is no remedy.

    Names that differ in numbers alone, "gpu7" and "gpu8", are two machines and no slip.
    """
    close = next(iter(nearest_names(name, machines, most=1, likeness=0.8)), None)
    if close is None or (_fold(close) != _fold(name) and _without_numbers(close) == _without_numbers(name)):
        return None
    return close


def known_names(name: str, known: Iterable[str]) -> str:
    """Words for an error: the nearest name if there is one, else all of them."""
    names = list(known)
    if (close := nearest(name, names)) is not None:
        return f"nearest known name: {spell(close)}"
    return "known names: " + ", ".join(names) if names else "there are none"


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _without_numbers(name: str) -> str:
    return re.sub(r"[0-9]+", "", _fold(name))
