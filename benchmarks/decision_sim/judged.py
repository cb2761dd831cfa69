"""Every question of an arm judged at one look, by its twin or by the stored baseline, with the product's own bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tokgate.stats.bounds import MODES, Bounds, bounds, by_modes, of_stored, of_twins, spent
from tokgate.stats.decision import Rule
from tokgate.stats.levels import DOUBT, Floats, Spread, of_sessions
from tokgate.verdicts.family import OF_KIND

from .arms import PRIOR_SD, Arm
from .draw import Bools, Ints
from .questions import FLOOR, HIGHER, LEVEL

MISS = Rule.model_fields["miss"].default


def by_twin(arm: Arm, spread: Spread, look: int) -> tuple[Bounds, Bools, Bools]:
    """Return bounds and what is confirmed of each question, and the sessions that no further run can settle: none."""
    a, b = arm.before.values, arm.now.values
    total = of_twins(spread, spread, runs_before=arm.before.runs, runs_now=arm.now.runs)
    difference = b.mean(axis=-1) - a.mean(axis=-1)
    found = _bounds(difference, total, kind="twin", look=look)
    # Stored sessions whose runs lie closer together than the loss speak against two modes.
    sizes = [
        np.where(np.ptp(side.values, axis=-1) < np.abs(difference) / 2, side.runs, 1) for side in arm.history
    ]
    confirmed = _confirmed(arm.before.runs, arm.now.runs, sizes, difference.shape)
    return found, confirmed, np.zeros(len(a), dtype=bool)


def _confirmed(before: int, now: int, sizes: Sequence[Ints], shape: tuple[int, ...]) -> Bools:
    if not sizes:
        return np.full(shape, by_modes(before, now) <= MODES)
    agreed = np.sum([size > 1 for size in sizes], axis=0)  # sessions whose runs agree, of equal size
    runs = int(max(size.max() for size in sizes))
    chances = np.array([by_modes(before, now, (runs,) * many) for many in range(len(sizes) + 1)])
    return np.asarray(chances[agreed] <= MODES)


def by_stored(arm: Arm, spread: Spread, look: int) -> tuple[Bounds, Bools, Bools]:
    """Return the same against the stored baseline, whose own spread all runs that the plan allows may leave undecided."""
    known = of_sessions([side.values for side in arm.history], spread, PRIOR_SD)
    difference = arm.now.values.mean(axis=-1) - known.mean
    total = of_stored(known, spread, runs_now=arm.now.runs)
    found = _bounds(difference, total, kind="stored", look=look)
    most = of_stored(known, spread, runs_now=arm.plan.most)
    then = _bounds(difference, most, kind="stored", look=look + 1)
    open_ = ~(found.regressed | found.passed | found.improved)
    hopeless = (open_ & ~(then.regressed | then.passed | then.improved))[:, arm.mine].any(axis=1)
    hopeless = np.asarray(hopeless & ~found.regressed[:, arm.mine].any(axis=1))
    stored_runs = sum(side.runs for side in arm.history)
    confirmed = np.full(difference.shape, by_modes(stored_runs, arm.now.runs) <= MODES)
    # What the machine itself moved by in the session is nobody's loss.
    beyond = found.low > np.expm1(arm.moved[arm.open])[:, None]
    return found._replace(regressed=found.regressed & beyond), confirmed, hopeless


def _bounds(difference: Floats, spread: Spread, *, kind: str, look: int) -> Bounds:
    """Judge every question: those of which more is better, and the others."""
    parts = []
    for higher in (True, False):
        of = higher == HIGHER
        df = spread.df[:1, of] if np.ptp(spread.df) == 0 else spread.df[:, of]
        parts.append(
            bounds(
                difference[:, of],
                Spread(spread.variance[:, of], df),
                reference=1.0,
                floor=FLOOR[of],
                alpha=spent(OF_KIND[kind] * LEVEL[of], look),
                beta=spent(MISS, look),
                higher_is_better=higher,
                doubt=DOUBT if kind == "stored" else 0.0,
            )
        )
    return Bounds(*(_joined(*pair) for pair in zip(*parts, strict=True)))


def of_question(difference: Floats, spread: Spread, question: int, *, kind: str, look: int) -> Bounds:
    """Judge one question, (sessions,), against a limit: no floor is asked."""
    return bounds(
        difference,
        spread,
        reference=1.0,
        floor=0.0,
        alpha=spent(OF_KIND[kind] * LEVEL[question], look),
        beta=spent(MISS, look),
        higher_is_better=bool(HIGHER[question]),
    )


def _joined(higher: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Put numbers of both kinds of questions into their places."""
    whole = np.empty((len(higher), len(HIGHER)), dtype=higher.dtype)
    whole[:, HIGHER], whole[:, ~HIGHER] = higher, lower
    return whole
