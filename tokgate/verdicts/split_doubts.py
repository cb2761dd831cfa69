"""What a reader of a split change has to know: where its numbers do not quite fit together."""

from __future__ import annotations

import math
import statistics

from tokgate.stats.log_shares import Decomposition

from .cycle_side import Side
from .metrics import METRICS
from .phase_parts import PhaseParts

# Beyond what one server run differs from the next, the cycle with instruments is not the timed one.
APART = METRICS["cycle_ms"].relative_floor
# Medians of starts and means of starts may differ by an outlier's weight; more is worth a word.
TWO_MIDDLES = 0.005


def flat(side: Side) -> list[tuple[float, float]]:
    lengths, cycles = ([v for one in runs for v in one] for runs in (side.accept_length, side.cycle_ms))
    return list(zip(lengths, cycles, strict=False))  # a start without one of the two is in neither series


def doubts(side: Side, told: PhaseParts) -> list[str]:
    timed = statistics.fmean(cycle for _, cycle in flat(side))
    carried = statistics.fmean(told.cycle_ms)
    found = [f"{side.label}: a doubt about its phases: {w}" for one in side.phases for w in one.warnings]
    if abs(carried / timed - 1) > APART:
        found.append(
            f"{side.label}: the cycle with instruments took {carried:.2f} ms, the timed one {timed:.2f} ms "
            f"({carried / timed - 1:+.1%}, beyond {APART:.0%}): what its phases are parts of is another cycle"
        )
    return found


def single(before: Side, after: Side) -> list[str]:
    alone = [side.label for side in (before, after) if side.launches == 1]
    if not alone:
        return []
    return [
        f"one server run of {' and of '.join(alone)}: the intervals of the shares do not hold the spread between restarts"
    ]


def off(whole: Decomposition, ratio: float, before: Side, after: Side) -> float:
    """Return how far the shares together lie from the measured change, in logarithms."""
    if whole.whole is None:
        return 0.0
    return abs(whole.whole.log + _of_first_tokens(before, after) - math.log(ratio))


def arithmetic(whole: Decomposition, ratio: float, before: Side, after: Side) -> list[str]:
    """Say what of the change is in no share, and where means and medians differ."""
    if whole.whole is None:
        return []
    found, first = [], _of_first_tokens(before, after)
    told = whole.whole.log + first
    if first:
        found.append(
            f"answers of {before.tokens} and of {after.tokens} tokens: the first token of each is prefill's, which "
            f"moves tok/s by {first:+.1%} (log) and is in no share"
        )
    if off(whole, ratio, before, after) > TWO_MIDDLES:
        found.append(
            f"the shares are of means and sum to {math.expm1(told):+.1%}; the measured change is that of medians"
        )
    return found


def _of_first_tokens(before: Side, after: Side) -> float:
    """Return what answers of other lengths make of tok/s: the first token of each is prefill's."""
    lengths = (before.tokens, after.tokens)
    if None in lengths or lengths[0] == lengths[1] or min(n or 0 for n in lengths) <= 1:
        return 0.0
    mine, theirs = (1 - 1 / (n or 1) for n in lengths)
    return math.log(theirs / mine)
