"""One difference of logarithms or of plain values with what it varies by, as a decision has it: bounds, interval, outcome."""

from __future__ import annotations

import numpy as np
import scipy

from tokgate.records import Outcome

from .bounds import Bounds, bounds, relative, spent
from .decision import CONFIDENCE, Rule
from .levels import Floats, Spread


def of_a_limit(found: Bounds) -> Bounds:
    """A limit is kept or missed by whatever little, and not improved on."""
    return found._replace(passed=found.high <= 0, improved=np.zeros_like(found.improved))


def beyond_limit(now: Floats, limit: float, rule: Rule) -> int:
    """Return how many server runs miss a limit, each by itself; values and limit on the scale."""
    return int(np.sum(now < limit if rule.higher_is_better else now > limit))


def known_better(spread: Spread, more: int) -> Spread:
    """What is known of a variance when `more` further draws have come, for planning only."""
    return spread._replace(df=spread.df + more) if more else spread


def change_of(difference: float, reference: float, rule: Rule) -> float:
    """Return a difference on the scale as a change relative to `reference`, which is in the metric's unit."""
    return float(relative(np.asarray(difference), reference, ratio=rule.ratio))


def interval_of(difference: float, spread: Spread, reference: float, rule: Rule) -> tuple[float, float]:
    """Return the two-sided interval at CONFIDENCE of such a change, by Student's t of what is known of the spread."""
    half = float(scipy.special.stdtrit(spread.df, (1 + CONFIDENCE) / 2) * np.sqrt(spread.variance))
    return (
        change_of(difference - half, reference, rule),
        change_of(difference + half, reference, rule),
    )


def bounds_of(
    difference: float,
    spread: Spread,
    rule: Rule,
    *,
    reference: float,
    floor: float,
    look: int,
    doubt: float = 0.0,
) -> Bounds:
    """Bound one difference at what the rule leaves for this look; `reference` in the metric's unit, `floor` relative."""
    return bounds(
        np.asarray(difference),
        spread,
        reference=reference,
        floor=floor,
        alpha=spent(rule.level, look),
        beta=spent(rule.miss, look),
        higher_is_better=rule.higher_is_better,
        ratio=rule.ratio,
        doubt=doubt,
    )


def numbers_of(found: Bounds) -> dict[str, float]:
    """Return the fields of a Decision that are its bounds alone."""
    return {
        "loss": float(found.loss),
        "low": float(found.low),
        "high": float(found.high),
        "smallest": float(found.smallest),
        "p": float(found.p),
    }


def outcome_of(found: Bounds, *, confirmed: bool) -> Outcome:
    """Return what bounds say; a loss that is not confirmed by restarts is none yet."""
    if found.regressed:
        return Outcome.REGRESSED if confirmed else Outcome.INCONCLUSIVE
    if found.improved:
        return Outcome.IMPROVED
    return Outcome.PASS if found.passed else Outcome.INCONCLUSIVE
