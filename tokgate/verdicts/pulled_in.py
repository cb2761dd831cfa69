"""Cycles of single starts that lie apart from the others of their server run, taken at the edge of those.

The change of a side is that of medians, which such a start does not move. Its shares are of means, which it does: of six starts at
5.90 ms and one at 7.4, the mean is 6.11.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from .cycle_side import Side

# Median absolute deviations, times 1.4826, are standard deviations of a normal distribution (Hampel 1974); three of them.
_EDGE = 3 * 1.4826
_LEAST = 0.001  # of the median: starts that agree to the last digit still differ by that
_FEWEST = 4  # starts of a run that tell which of them is apart


def pulled_in(side: Side) -> Side:
    """Return the side with every start of a cycle within the edges of its server run; accept lengths stay."""
    return side.model_copy(update={"cycle_ms": tuple(map(_pulled, side.cycle_ms))})


def pulled_words(side: Side) -> Iterator[str]:
    """Yield how many starts that are, if any."""
    far = [v for run in side.cycle_ms for v, kept in zip(run, _pulled(run), strict=True) if v != kept]
    if far:
        several = "s lie" if len(far) > 1 else " lies"
        yield (
            f"{side.label}: {len(far)} start{several} apart from the others of the server run (the furthest at {max(far):.2f} ms a "
            "cycle), and counts as the edge of those"
        )


def _pulled(run: Sequence[float]) -> tuple[float, ...]:
    if len(run) < _FEWEST:
        return tuple(run)
    middle = statistics.median(run)
    edge = max(_LEAST * middle, _EDGE * statistics.median(abs(v - middle) for v in run))
    return tuple(min(max(v, middle - edge), middle + edge) for v in run)
