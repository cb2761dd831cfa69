"""Does a number keep a fixed limit: surely, surely not, or not settled yet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .bounds import Bounds, spent
from .confirm import against_fixed
from .decision import Decision, Rule
from .judged import (
    bounds_of,
    change_of,
    interval_of,
    known_better,
    numbers_of,
    of_a_limit,
    outcome_of,
)
from .levels import RunValues, Spread
from .sides import back, scaled, sides_of
from .wants import wants_of


def against_limit(
    now: Sequence[RunValues], limit: float, rule: Rule, *, history: Sequence[RunValues] = ()
) -> Decision:
    """Judge the runs of an arm against a fixed limit: `rule`'s floors are not asked, the limit is one.

    pass: the limit is kept with the power asked for. regressed: it is missed at the session's level, by more runs than
    two modes of restarts explain (confirm.py). Otherwise inconclusive. ValueError as of `decide`, and on a limit that is not positive.
    """
    if not (math.isfinite(limit) and limit > 0):
        raise ValueError(f"a limit of {limit!r}: positive and finite is needed")
    sides = sides_of(now, (), rule, history=history)
    mean = float(sides.now.mean())
    difference = mean - scaled(limit, rule)

    def judged(look: int = rule.look, **more: int) -> Bounds:
        further = more.get("more_now", 0)
        own = known_better(sides.spread_now, further)
        spread = Spread(own.variance / (len(sides.now) + further), own.df)
        return of_a_limit(bounds_of(difference, spread, rule, reference=limit, floor=0.0, look=look))

    found = judged()
    confirmation = against_fixed(sides.now, scaled(limit, rule), rule, sides.history, loss=float(found.loss))
    confirmed = confirmation.confirmed or not rule.confirm
    outcome = outcome_of(found, confirmed=confirmed)
    return Decision(
        kind="limit",
        outcome=outcome,
        now=back(mean, rule),
        before=limit,
        change=change_of(difference, limit, rule),
        interval=interval_of(
            difference,
            Spread(sides.spread_now.variance / len(sides.now), sides.spread_now.df),
            limit,
            rule,
        ),
        level=float(spent(rule.level, rule.look)),
        floor=0.0,
        detect=0.0,
        look=rule.look,
        runs_now=len(sides.now),
        runs_before=0,
        sessions_before=0,
        starts_now=sum(len(run.values) for run in now),
        between_runs=math.sqrt(float(sides.spread_now.variance)),
        between_sessions=None,
        modes=confirmation.modes,
        confirmed=confirmed,
        wants=wants_of(
            judged,
            found,
            rule,
            "limit",
            outcome=outcome,
            lacking=confirmation.lacking,
            mixed=sides.mixed,
        ),
        notes=sides.notes,
        **numbers_of(found),
    )
