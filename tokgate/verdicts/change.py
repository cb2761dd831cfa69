"""One setting of a sweep against another, by the starts of one server run each: established, and larger than both floors.

Everything else is decided by server runs (stats/decide.py): a sweep has one a setting, so what restarts differ by is unknown
here, and not in the interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records import Outcome
from tokgate.records.record import Record
from tokgate.rig.limits import Floor
from tokgate.stats.compare import Comparison, compare

from .metrics import Metric

_HARDLY = 10_000  # repeats a side beyond which nobody measures


class Change(Record):
    """`change` and `interval` are relative to the reference: +0.02 is 2 % more."""

    outcome: Outcome
    comparison: Comparison
    reference: float  # median of the reference series
    change: float
    interval: tuple[float, float] | None
    why: str  # half a sentence for the headline
    do: str | None


def judge_change(
    now: Sequence[float],
    before: Sequence[float],
    metric: Metric,
    floor: Floor,
    *,
    confidence: float = 0.95,
) -> Change:
    """Judge `now` against `before` (both positive, neither empty), by an interval of this confidence.

    regressed / improved: the interval excludes no change, and the estimate exceeds both floors.
    pass: even the interval's bad end stays within a floor, so a loss worth calling is excluded.
    inconclusive: everything else, among it a series too short to establish anything.
    """
    comparison = compare(now, before, confidence=confidence)
    reference = statistics.median(before)
    change = comparison.ratio - 1
    outcome, why, do = Outcome.INCONCLUSIVE, "", None
    interval: tuple[float, float] | None = None

    def beyond(amount: float) -> bool:
        return abs(amount) > floor.relative and abs(amount) * reference > floor.absolute

    if comparison.interval is None:
        why = f"n={comparison.n_a}+{comparison.n_b}, {comparison.needed} a side needed"
        do = f"measure until both sides have at least {comparison.needed} values"
    else:
        low, high = comparison.interval
        interval = (low - 1, high - 1)
        worst = max(metric.loss(interval[0]), metric.loss(interval[1]))
        span = f"interval {interval[0]:+.1%} to {interval[1]:+.1%}"
        if comparison.established and beyond(change):
            outcome = Outcome.REGRESSED if metric.loss(change) > 0 else Outcome.IMPROVED
            why = span
            if outcome is Outcome.REGRESSED:
                do = (
                    "see which has moved, acceptance or the cycle: the verdicts on accept_length and cycle_ms"
                )
        elif worst <= 0 or not beyond(worst):
            outcome, why = Outcome.PASS, span
        else:
            why = f"{span}: a loss beyond the floor is not excluded"
            do = _more(comparison, metric.loss(change), worst, _smallest(floor, reference))
    return Change(
        outcome=outcome,
        comparison=comparison,
        reference=reference,
        change=change,
        interval=interval,
        why=why,
        do=do,
    )


def _smallest(floor: Floor, reference: float) -> float:
    return max(floor.relative, floor.absolute / reference)


def _more(comparison: Comparison, loss: float, worst: float, allowed: float) -> str:
    """Estimate the repeats needed; the width of an interval shrinks with the root of n."""
    room = allowed - loss
    if room <= 0:
        return "the loss is about as large as the floor: more repeats alone will hardly settle it"
    wanted = math.ceil(comparison.n_a * ((worst - loss) / room) ** 2)
    if wanted > _HARDLY:
        return "the loss is as good as the floor: more repeats alone will hardly settle it"
    return f"about {max(wanted, comparison.n_a + 1)} repeats a side would settle it (n={comparison.n_a} now)"
