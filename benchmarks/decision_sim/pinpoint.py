"""Chromium's Pinpoint: ten attempts a side, then ten more for the smaller side until "different" or "same".

dashboard/dashboard/pinpoint/models/{job_state,compare/*}.py of catapult-project/catapult. The smaller of the p of
Mann-Whitney and Kolmogorov-Smirnov is looked at every time: up to 0.01 is "different", above a bound that falls as values
come in is "same". The bound is the p below which 99 % of Mann-Whitney tests fall when the sides do differ by the
magnitude asked for, in interquartile ranges. Theirs is a table of a million
simulations a row; here it is simulated anew.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special, stats

from .draw import Floats, Machine, Result
from .questions import ARM, ARMS, THROUGHPUT, WORKLOADS
from .rivals import rank_sum
from .worlds import WARMUPS

DIFFERENT = 0.01
MISS = 0.01
STEP = 10
MOST = 120  # attempts a side, their longest row but two
MAGNITUDE = 0.03  # the loss to look for, as a part
_SIMULATED = 8000
_IQR_SD = float(2 * special.ndtri(0.75))  # interquartile range of a standard normal


def pinpoint(machine: Machine, *, loss: float) -> Result:
    """An attempt is a server run of its own with one measured start, as a benchmark run is a browser's."""
    session = machine.session()
    arms = ARM[THROUGHPUT]
    n = machine.sessions
    called, going = np.zeros((n, ARMS), dtype=bool), np.ones((n, ARMS), dtype=bool)
    launches = np.zeros((n, ARMS))
    active = np.arange(n)
    values = [_attempts(machine, session, lost) for lost in (0.0, loss)]
    launches += 2 * STEP
    while True:
        sizes = [side.shape[-1] for side in values]
        p, slower = _p(*values)
        spread = np.maximum(*(stats.iqr(np.exp(-side), axis=-1) for side in values))
        # As they index it, their rows begin at 0.3 and not at 0.5: the magnitude looked for is 0.2 less.
        asked = np.clip(np.floor(10 * MAGNITUDE / np.maximum(spread, 1e-9)) - 2, 3, 40).astype(int)
        bound = np.empty(asked.shape)
        for m in np.unique(asked):
            bound[asked == m] = same_above(m / 10, sum(sizes) // 2)
        different = p <= DIFFERENT
        unknown = ~different & (p <= bound)
        for arm in range(ARMS):
            was = going[active, arm]
            called[active, arm] |= was & (different & slower)[:, arms == arm].any(axis=1)
            going[active, arm] = (
                was & ~different[:, arms == arm].any(axis=1) & unknown[:, arms == arm].any(axis=1)
            )
        on = going[active].any(axis=1)
        if not on.any() or min(sizes) >= MOST:
            break
        values, active = [side[on] for side in values], active[on]
        smaller = 0 if sizes[0] <= sizes[1] else 1
        more = _attempts(machine, session[active], loss if smaller else 0.0)
        values[smaller] = np.concatenate([values[smaller], more], axis=-1)
        launches[active] += STEP * going[active]
    total = launches.sum(axis=1)
    return Result(
        called=np.asarray(called.any(axis=1)),
        invalid=np.zeros(n, dtype=bool),
        undecided=np.asarray(going.any(axis=1) & ~called.any(axis=1)),
        launches=total,
        starts=total * WORKLOADS * (1 + WARMUPS),
    )


@cache
def same_above(magnitude: float, n: int) -> float:
    """Return the p above which two sides of `n` values are the "same": of normal values so many IQR apart, 1 % lie above."""
    rng = np.random.default_rng(n)
    before = rng.standard_normal((_SIMULATED, n))
    now = rng.standard_normal((_SIMULATED, n)) + magnitude * _IQR_SD
    return float(np.quantile(by_ranks(before, now)[0], 1 - MISS))


def by_ranks(before: Floats, now: Floats) -> tuple[Floats, Floats]:
    """Return the p of Mann-Whitney, two-sided, by the normal approximation with continuity, and its z (negative: now is larger)."""
    a, b = before.shape[-1], now.shape[-1]
    from_middle = rank_sum(before, now) - a * (a + 1) / 2 - a * b / 2
    z = np.sign(from_middle) * np.maximum(np.abs(from_middle) - 0.5, 0) / np.sqrt(a * b * (a + b + 1) / 12)
    return np.asarray(2 * special.ndtr(-np.abs(z))), np.asarray(z)


def _attempts(machine: Machine, session: Floats, loss: float) -> Floats:
    return machine.means(machine.runs(session, loss=loss, at=0.0, number=STEP), 1)[:, THROUGHPUT]


def _p(before: Floats, now: Floats) -> tuple[Floats, np.ndarray]:
    """Return the smaller p of both tests, two-sided and asymptotic, and whether `now` is the slower side."""
    a, b = before.shape[-1], now.shape[-1]
    p, z = by_ranks(before, now)
    order = np.argsort(np.concatenate([before, now], axis=-1), axis=-1)
    steps = np.where(order < a, 1 / a, -1 / b).cumsum(axis=-1)
    gap = np.abs(steps).max(axis=-1)
    root = np.sqrt(a * b / (a + b))
    by_gap = special.kolmogorov((root + 0.12 + 0.11 / root) * gap)
    return np.minimum(p, by_gap), z < 0
