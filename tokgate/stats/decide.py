"""Has a number become worse: established, larger than its floors, and confirmed by restarts.

The numbers come from levels.py and bounds.py; here they become one decision about one metric of one arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from tokgate.records import Outcome

from .bounds import DETECT, Bounds, of_stored, of_twins, spent
from .confirm import (
    against_ratio,
    against_side,
    against_stored,
    against_twin,
    all_of_one_mode,
    of_agreeing,
    of_one_mode,
    once_better,
)
from .decision import Decision, Rule
from .judged import (
    beyond_limit,
    bounds_of,
    change_of,
    interval_of,
    known_better,
    numbers_of,
    of_a_limit,
    outcome_of,
)
from .levels import DOUBT, RunValues, Spread, of_sessions
from .sides import back, groups_of, sessions_note, sides_of
from .wants import at_most, wants_of


def decide(
    now: Sequence[RunValues],
    before: Sequence[RunValues],
    rule: Rule,
    *,
    kind: Literal["twin", "side", "stored"],
    history: Sequence[RunValues] = (),
    limit_ratio: float | None = None,
    moved: float | None = 0.0,
    beside: Sequence[RunValues] = (),
) -> Decision:
    """Compare the runs of an arm with those of its twin in this session, with those of the base of a change, or with stored ones.

    `history`: further runs of the same configuration that tell how much its runs differ, e.g. the stored ones beside a
    twin. `limit_ratio`: what now / before is held against, as `against_limit` holds a value against a limit; loss,
    bounds and `smallest` are then relative to that, change and interval still to the twin. `moved`: relative, what the
    machine itself has moved by meanwhile, as the controls of a session lie apart: a loss must surely be larger, else a
    drift just below what voids a session looks like one (benchmarks/decisions.py, "warming"); None where that is unknown,
    and then none is called. `beside`: further runs of
    the twin, or of other arms, which tell as those of `history` whether restarts on this machine have two modes. ValueError on an empty
    side, a value that is not positive and finite, a limit that is not, or one on plain differences.
    """
    if limit_ratio is not None and not (rule.ratio and math.isfinite(limit_ratio) and limit_ratio > 0):
        raise ValueError(f"a limit of {limit_ratio!r}: positive, finite and of a ratio is needed")
    sides = sides_of(now, before, rule, history=history)
    mean_before = float(np.mean([group.mean() for group in sides.before]))
    difference = float(sides.now.mean()) - mean_before
    reference = back(mean_before, rule)
    held_to = math.log(limit_ratio) if limit_ratio is not None else 0.0
    floor = max(rule.relative, rule.absolute / reference) if limit_ratio is None else 0.0

    def spread(
        more_now: int = 0, more_before: int = 0, more_sessions: int = 0
    ) -> tuple[Spread, float | None]:
        runs_now = len(sides.now) + more_now
        if kind != "stored":
            runs_before = sum(len(group) for group in sides.before) + more_before
            return (
                of_twins(
                    known_better(sides.spread_before, more_before),
                    known_better(sides.spread_now, more_now),
                    runs_before=runs_before,
                    runs_now=runs_now,
                ),
                None,
            )
        stored = of_sessions(sides.before, sides.spread_before, sides.prior_sd)
        if more_sessions:
            stored = stored._replace(
                number=stored.number + more_sessions, whole=known_better(stored.whole, more_sessions)
            )
        found = of_stored(stored, known_better(sides.spread_now, more_now), runs_now=runs_now)
        return found, math.sqrt(float(stored.own.variance))

    def judged(look: int = rule.look, **more: int) -> Bounds:
        against = difference - held_to
        doubt = DOUBT if kind == "stored" else 0.0
        found = bounds_of(
            against, spread(**more)[0], rule, reference=reference, floor=floor, look=look, doubt=doubt
        )
        surely = found.low > moved if moved is not None else np.zeros_like(found.regressed)
        found = found._replace(regressed=found.regressed & surely)
        return found if limit_ratio is None else of_a_limit(found)

    found = judged()
    runs_before = sum(len(group) for group in sides.before)
    beyond = beyond_limit(sides.now, mean_before + held_to, rule)
    if kind == "stored":
        confirmation = against_stored(len(sides.now), runs_before)
    else:
        others = [*sides.history, *groups_of(beside, rule)]
        agreed = of_one_mode(others, abs(difference - held_to))
        if kind == "side":
            # Mirrored: those of the base that the mean of the head misses.
            better = beyond_limit(-np.concatenate(sides.before), -float(sides.now.mean()), rule)
            agreed = all_of_one_mode(others, abs(difference))
            confirmation = against_side((beyond, better), agreed, timed=rule.timed)
        elif limit_ratio is not None:
            confirmation = against_ratio(len(sides.now), beyond, runs_before, agreed, loss=float(found.loss))
        elif rule.same_configuration:
            confirmation = against_twin(len(sides.now), runs_before, agreed)
        else:
            confirmation = of_agreeing(beyond)
    confirmed = confirmation.confirmed or not rule.confirm
    outcome = outcome_of(found, confirmed=confirmed)
    once = once_better(outcome, found, rule, kind, floor=floor, runs=(len(sides.now), runs_before))
    if once is not None:
        outcome, wants = Outcome.INCONCLUSIVE, once
    else:
        wants = wants_of(
            judged,
            found,
            rule,
            kind,
            outcome=outcome,
            lacking=confirmation.lacking,
            mixed=sides.mixed,
        )
    may_be_loss = outcome is Outcome.INCONCLUSIVE and once is None and float(found.loss) > floor
    total, between_sessions = spread()
    return Decision(
        kind=kind,
        outcome=outcome,
        now=back(float(sides.now.mean()), rule),
        before=reference,
        change=change_of(difference, reference, rule),
        interval=interval_of(difference, total, reference, rule),
        level=float(spent(rule.level, rule.look)),
        floor=floor,
        detect=DETECT * floor,
        look=rule.look,
        runs_now=len(sides.now),
        runs_before=runs_before,
        sessions_before=len(sides.before),
        starts_now=sum(len(run.values) for run in now),
        between_runs=math.sqrt(float(sides.spread_now.variance)),
        between_sessions=between_sessions,
        modes=confirmation.modes,
        confirmed=confirmed,
        wants=wants,
        most=at_most(wants, confirmation.in_all if may_be_loss else None),
        moved=moved,
        notes=sides.notes + (sessions_note(sides, rule) if kind == "stored" else ()),
        **{**numbers_of(found), "smallest": float(found.smallest) + (moved or 0.0)},
    )
