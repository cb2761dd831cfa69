"""An arm against every control of its session: drift of the machine widens the interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.records.record import Record
from tokgate.stats.compare import Comparison, compare


class Bracket(Record):
    """A ratio over every control, drift included."""

    ratio: float  # against all controls together
    interval: tuple[float, float] | None  # hull of the intervals against each control
    drift: float  # largest relative difference between two controls; 0 with one
    comparisons: tuple[Comparison, ...]

    @property
    def missing(self) -> tuple[int, int]:
        """Return how many values the smaller side has, and how many more it needs for an interval."""
        fewest = min(min(c.n_a, c.n_b) for c in self.comparisons)
        return fewest, max(c.needed for c in self.comparisons) - fewest


def bracketed(now: Sequence[float], before: Sequence[Sequence[float]]) -> Bracket:
    """Compare with each control on its own and take the hull, so that drift widens the interval."""
    comparisons = tuple(compare(now, control) for control in before)
    medians = [statistics.median(control) for control in before]
    spans = [c.interval for c in comparisons if c.interval is not None]
    complete = len(spans) == len(comparisons)
    return Bracket(
        ratio=compare(now, [v for control in before for v in control]).ratio,
        interval=(min(s[0] for s in spans), max(s[1] for s in spans)) if complete else None,
        drift=max(medians) / min(medians) - 1,
        comparisons=comparisons,
    )
