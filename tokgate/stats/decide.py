"""Has a number become worse: established, larger than its floors, and confirmed by restarts.

The numbers come from levels.py and bounds.py; here they become one decision about one metric of one arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import special

from tokgate.records import Outcome

from .bounds import DETECT, MODES, Bounds, bounds, by_modes, of_stored, of_twins, relative, spent
from .decision import CONFIDENCE, Decision, Rule
from .levels import DOUBT, Floats, RunValues, Spread, of_sessions
from .sides import back, scaled, sessions_note, sides_of
from .wants import AGREE, wants_of


def decide(
    now: Sequence[RunValues],
    before: Sequence[RunValues],
    rule: Rule,
    *,
    kind: Literal["twin", "stored"],
    history: Sequence[RunValues] = (),
    limit_ratio: float | None = None,
    moved: float = 0.0,
) -> Decision:
    """Compare the runs of an arm with those of its twin in this session, or with those of a stored baseline.

    `history`: further runs of the same configuration that tell how much its runs differ, e.g. the stored ones beside a
    twin. `limit_ratio`: what now / before is held against, as `against_limit` holds a value against a limit; loss,
    bounds and `smallest` are then relative to that, change and interval still to the twin. `moved`: relative, what the
    machine itself has moved by meanwhile, as the controls of a session lie apart: a loss must surely be larger, else a
    drift just below what voids a session looks like one (benchmarks/decisions.py, "warming"). ValueError on an empty
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
        if kind == "twin":
            runs_before = sum(len(group) for group in sides.before) + more_before
            return (
                of_twins(
                    _known_better(sides.spread_before, more_before),
                    _known_better(sides.spread_now, more_now),
                    runs_before=runs_before,
                    runs_now=runs_now,
                ),
                None,
            )
        stored = of_sessions(sides.before, sides.spread_before, sides.prior_sd)
        if more_sessions:
            stored = stored._replace(
                number=stored.number + more_sessions, whole=_known_better(stored.whole, more_sessions)
            )
        found = of_stored(stored, _known_better(sides.spread_now, more_now), runs_now=runs_now)
        return found, math.sqrt(float(stored.own.variance))

    def judged(look: int = rule.look, **more: int) -> Bounds:
        against = difference - held_to
        doubt = DOUBT if kind == "stored" else 0.0
        found = _bounds(
            against, spread(**more)[0], rule, reference=reference, floor=floor, look=look, doubt=doubt
        )
        found = found._replace(regressed=found.regressed & (found.low > moved))
        return found if limit_ratio is None else _of_a_limit(found)

    found = judged()
    runs_before = sum(len(group) for group in sides.before)
    beyond = _beyond(sides.now, mean_before + held_to, rule)
    # Runs of one configuration on both sides: two modes of its restarts would look like a loss.
    asks_modes = kind == "stored" or (rule.same_configuration and limit_ratio is None)
    agreed = _of_one_mode(sides.history, abs(difference)) if kind == "twin" else ()
    modes = by_modes(runs_before, len(sides.now), agreed)
    confirmed = not rule.confirm or (modes <= MODES if asks_modes else beyond >= AGREE)
    outcome = _outcome(found, confirmed=confirmed)
    wants = wants_of(
        judged,
        found,
        rule,
        kind,
        beyond=beyond,
        runs=(len(sides.now), runs_before),
        outcome=outcome,
        agreed=agreed if asks_modes else None,
        mixed=sides.mixed,
    )
    total, between_sessions = spread()
    return Decision(
        kind=kind,
        outcome=outcome,
        now=back(float(sides.now.mean()), rule),
        before=reference,
        change=_relative(difference, reference, rule),
        interval=_interval(difference, total, reference, rule),
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
        modes=modes if asks_modes else None,
        confirmed=confirmed,
        wants=wants,
        moved=moved,
        notes=sides.notes + (sessions_note(sides, rule) if kind == "stored" else ()),
        **{**_numbers(found), "smallest": float(found.smallest) + moved},
    )


def against_limit(
    now: Sequence[RunValues], limit: float, rule: Rule, *, history: Sequence[RunValues] = ()
) -> Decision:
    """Judge the runs of an arm against a fixed limit: `rule`'s floors are not asked, the limit is one.

    pass: the limit is kept with the power asked for. regressed: it is missed at the session's level. Otherwise
    inconclusive. ValueError as of `decide`, and on a limit that is not positive.
    """
    if not (math.isfinite(limit) and limit > 0):
        raise ValueError(f"a limit of {limit!r}: positive and finite is needed")
    sides = sides_of(now, (), rule, history=history)
    mean = float(sides.now.mean())
    difference = mean - scaled(limit, rule)

    def judged(look: int = rule.look, **more: int) -> Bounds:
        further = more.get("more_now", 0)
        own = _known_better(sides.spread_now, further)
        spread = Spread(own.variance / (len(sides.now) + further), own.df)
        return _of_a_limit(_bounds(difference, spread, rule, reference=limit, floor=0.0, look=look))

    found = judged()
    beyond = _beyond(sides.now, scaled(limit, rule), rule)
    confirmed = not rule.confirm or beyond >= AGREE
    outcome = _outcome(found, confirmed=confirmed)
    return Decision(
        kind="limit",
        outcome=outcome,
        now=back(mean, rule),
        before=limit,
        change=_relative(difference, limit, rule),
        interval=_interval(
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
        modes=None,
        confirmed=confirmed,
        wants=wants_of(
            judged,
            found,
            rule,
            "limit",
            beyond=beyond,
            runs=(len(sides.now), 0),
            outcome=outcome,
            mixed=sides.mixed,
        ),
        notes=sides.notes,
        **_numbers(found),
    )


def _of_one_mode(history: Sequence[Floats], apart: float) -> tuple[int, ...]:
    """Return the sizes of those sessions whose runs lie closer together than half of what the sides are apart."""
    return tuple(len(group) for group in history if len(group) > 1 and np.ptp(group) < apart / 2)


def _of_a_limit(found: Bounds) -> Bounds:
    """A limit is kept or missed by whatever little, and not improved on."""
    return found._replace(passed=found.high <= 0, improved=np.zeros_like(found.improved))


def _beyond(now: Floats, limit: float, rule: Rule) -> int:
    """Return how many server runs miss a limit, each by itself; values and limit on the scale."""
    return int(np.sum(now < limit if rule.higher_is_better else now > limit))


def _known_better(spread: Spread, more: int) -> Spread:
    """What is known of a variance when `more` further draws have come, for planning only."""
    return spread._replace(df=spread.df + more) if more else spread


def _relative(difference: float, reference: float, rule: Rule) -> float:
    return float(relative(np.asarray(difference), reference, ratio=rule.ratio))


def _interval(difference: float, spread: Spread, reference: float, rule: Rule) -> tuple[float, float]:
    half = float(special.stdtrit(spread.df, (1 + CONFIDENCE) / 2) * np.sqrt(spread.variance))
    return (
        _relative(difference - half, reference, rule),
        _relative(difference + half, reference, rule),
    )


def _bounds(
    difference: float,
    spread: Spread,
    rule: Rule,
    *,
    reference: float,
    floor: float,
    look: int,
    doubt: float = 0.0,
) -> Bounds:
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


def _numbers(found: Bounds) -> dict[str, float]:
    return {
        "loss": float(found.loss),
        "low": float(found.low),
        "high": float(found.high),
        "smallest": float(found.smallest),
        "p": float(found.p),
    }


def _outcome(found: Bounds, *, confirmed: bool) -> Outcome:
    if found.regressed:
        return Outcome.REGRESSED if confirmed else Outcome.INCONCLUSIVE
    if found.improved:
        return Outcome.IMPROVED
    return Outcome.PASS if found.passed else Outcome.INCONCLUSIVE
