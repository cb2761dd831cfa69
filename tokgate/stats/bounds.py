"""How sure a loss is: bounds at a stated level, and what two modes of restarts could have shown by chance.

On the metric's scale (logarithms, or plain differences) the change is the difference of two means of server runs, and
a t interval with shrunk variances (levels.py) says how sure it is. Sampling may go on after a look at the numbers, so
look k has the share 2^-k of the comparison's chance of a false alarm: the sum over any number of looks stays below the
whole, whatever the dependence between looks and whichever arm is measured next (union bound; error spending of Lan and
DeMets 1983 with a fixed sequence). The same holds for the chance to miss a loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from .levels import PRIOR_DF, Floats, Sessions, Spread, together

Bools = npt.NDArray[np.bool_]

WIDEST = 30.0  # of a logarithm of a ratio: 1e13 times
DETECT = 1.5  # times the floor: the loss that must not be missed
MODES = 0.005  # the chance that restarts of one arm, in two modes, look like a loss: two arms, 1 %
_SHARES = np.linspace(0.0, 1.0, 401)  # of the slow mode; the chance is smooth in it


class Bounds(NamedTuple):
    """Of a loss relative to the reference: positive is worse. Arrays of one shape."""

    loss: Floats
    low: Floats  # it is at least this, at the level of this look
    high: Floats  # it is at most this, with the power of this look
    smallest: Floats  # the smallest loss that would have been called with that power
    p: Floats  # one-sided, of no loss
    regressed: Bools  # before confirmation by restarts
    improved: Bools
    passed: Bools


def spent(share: Floats | float, look: Floats | int) -> Floats:
    """Return what look `look` (from 1) may spend of a chance."""
    return np.asarray(share * np.exp2(-np.asarray(look, dtype=float)))


def of_twins(before: Spread, now: Spread, *, runs_before: Floats | int, runs_now: Floats | int) -> Spread:
    """Return the variance of the difference of two arms of one session, each spread being one run's."""
    return together(
        [Spread(before.variance / runs_before, before.df), Spread(now.variance / runs_now, now.df)]
    )


def of_stored(stored: Sessions, runs: Spread, *, runs_now: Floats | int) -> Spread:
    """Return the variance of today's mean of runs about the mean of the stored sessions.

    Where today has as many runs as a stored session, how far those lie apart is all there is to know: what is theirs
    and what their runs' need not be told apart. With fewer, today varies by more. With more runs it varies by less, but
    only as far as restarts of one session have been seen to differ: of a prior nothing is taken off.
    """
    now, each = np.asarray(runs_now, dtype=float), stored.runs_each
    whole = stored.whole.variance
    seen = 1 - PRIOR_DF / runs.df
    fewer = runs.variance * np.maximum(1 / now - 1 / each, 0)
    more = seen * runs.variance * np.maximum(1 / each - 1 / now, 0)
    today = np.maximum(whole - more, whole * np.minimum(each / now, 1))
    sessions = Spread(whole / stored.number + today, stored.whole.df)
    return together([sessions, Spread(fewer, runs.df)]) if np.any(fewer > 0) else sessions


def relative(difference: Floats, reference: Floats | float, *, ratio: bool) -> Floats:
    """Turn a difference on the metric's scale into a change relative to the reference."""
    # A rig may set a floor so wide that a bound lies beyond any float: no number is told apart out there.
    bounded = np.clip(difference, -WIDEST, WIDEST)
    return np.asarray(np.expm1(bounded) if ratio else difference / reference)


def bounds(
    difference: Floats,
    spread: Spread,
    *,
    reference: Floats | float,
    floor: Floats | float,
    alpha: Floats | float,
    beta: Floats | float,
    higher_is_better: bool,
    ratio: bool = True,
    detect: float = DETECT,
    doubt: float = 0.0,
) -> Bounds:
    """Judge a difference (now - before, on the metric's scale).

    `reference`: the value before, in the metric's unit. `floor`: relative, the larger of both floors. `alpha`, `beta`:
    one-sided, what this look may spend. A loss is called where its lower bound is above 0 and its estimate above the
    floor; a pass excludes a loss of `detect` floors. `doubt`: degrees of freedom that a loss may not count on.
    """
    sign = -1.0 if higher_is_better else 1.0
    error = np.sqrt(spread.variance)
    for_a_loss = np.asarray(spread.df - doubt)
    t_alpha = scipy.special.stdtrit(for_a_loss, 1 - np.asarray(alpha))
    t_beta = scipy.special.stdtrit(spread.df, 1 - np.asarray(beta))

    def loss(on_scale: Floats) -> Floats:
        """Positive is worse; `on_scale` counts as worse above 0."""
        return sign * relative(sign * on_scale, reference, ratio=ratio)

    worse = sign * difference
    estimate, low, high = loss(worse), loss(worse - t_alpha * error), loss(worse + t_beta * error)
    opposite = loss(worse + t_alpha * error)
    # A loss is called above t_alpha errors and above the floor; with the power, t_beta errors above that.
    smallest = loss(
        np.maximum(t_alpha * error, _on_scale(floor, reference, sign=sign, ratio=ratio)) + t_beta * error
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, worse / error, np.sign(worse) * np.inf)
    return Bounds(
        loss=estimate,
        low=low,
        high=high,
        smallest=smallest,
        p=np.asarray(
            np.where(
                np.isnan(t),
                0.5,
                scipy.special.stdtr(for_a_loss, -np.nan_to_num(t, posinf=1e30, neginf=-1e30)),
            )
        ),
        regressed=np.asarray((low > 0) & (estimate > floor)),
        improved=np.asarray((opposite < 0) & (-estimate > floor)),
        passed=np.asarray(high < detect * np.asarray(floor)),
    )


def _on_scale(floor: Floats | float, reference: Floats | float, *, sign: float, ratio: bool) -> Floats:
    """Return the floor as a difference on the scale, in the direction of a loss."""
    if ratio:
        # Of what is better the higher, nothing loses more than all of it.
        return np.asarray(sign * np.log1p(np.maximum(sign * np.asarray(floor), math.expm1(-WIDEST))))
    return np.asarray(floor * np.asarray(reference))


def by_modes(before: int, now: int, agreed: Sequence[int] = (), *, most: float = 1.0) -> float:
    """Return the greatest chance with which a server of two modes shows `before` runs in one and `now` runs in the other.

    p^now (1 - p)^before, of all shares p of the slow mode the worst. It holds for whatever makes restarts fall into two
    modes, and needs no assumption on how far they lie apart.

    `agreed`: further sessions that were of one mode each, whichever, by their number of runs: p^n + (1 - p)^n, since
    a server with two modes shows few of those. `most`: the largest share p that is called a mode, and not what the
    server is; below 1 it bounds the chance without any run before.
    """
    if not now or (not before and most == 1):
        return 1.0
    shares = np.append(most * _SHARES, min(most, now / (before + now)))
    chance = shares**now * (1 - shares) ** before
    for n in agreed:
        chance = chance * (shares**n + (1 - shares) ** n)
    return float(chance.max())


def runs_to_confirm(
    before: int, *, most: int = 12, chance: float = MODES, agreed: Sequence[int] = ()
) -> int | None:
    """Return how many runs must show a loss until two modes cannot explain it; None: not with that few runs before."""
    return next((now for now in range(1, most + 1) if by_modes(before, now, agreed) <= chance), None)
