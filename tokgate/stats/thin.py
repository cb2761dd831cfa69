"""Fewer points for the eye that still show what is there: no extreme is lost, and no value is made up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

_KEPT = 3  # of each stretch: the lowest, the middle and the highest
WORDS = "of each stretch of neighbours the lowest, the middle and the highest"


def thinned(values: Sequence[float], most: int) -> tuple[int, ...]:
    """Return places of `values` in rising order: all of them, or `most` and the two ends.

    Neighbours are taken together in stretches of equal length; of each its lowest, middle and highest value stay.
    """
    if len(values) <= most:
        return tuple(range(len(values)))
    stretches = max(1, most // _KEPT)
    edges = [len(values) * i // stretches for i in range(stretches + 1)]
    kept = {0, len(values) - 1}
    for first, end in itertools.pairwise(edges):
        ordered = sorted(range(first, end), key=lambda i: values[i])
        kept |= {ordered[0], ordered[len(ordered) // 2], ordered[-1]}
    return tuple(sorted(kept))


def without_repeats(values: Sequence[float | None]) -> tuple[int, ...]:
    """Return the places of `values` that a line through all of them needs: of equal neighbours the two ends."""
    last = len(values) - 1
    return tuple(i for i, v in enumerate(values) if i in (0, last) or not v == values[i - 1] == values[i + 1])
