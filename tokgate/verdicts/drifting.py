"""Did the machine move while a session measured: its control runs in order of time.

The first of them is held against each that follows: the control after the other arms, and every restart of it, which come
later still. Two server runs differ by their restart as well. So a drift is one that exceeds the floor and what restarts of
this arm are known to differ by: from its stored runs, and from what its later runs of this session differ by, to which a
steady slope does not add. Where fewer than KNOWN restarts have been seen they are given as much as restarts of any
server were seen to differ by, and what lies between that and the floor cannot be told from them: more restarts would.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from tokgate.rig.limits import Floor
from tokgate.stats.bounds import WIDEST
from tokgate.stats.compare import Comparison, compare
from tokgate.stats.levels import PRIOR_SHARE, Floats, RunValues, Spread, Sums, posterior, sums

# Two-sided, of restarts that differ as restarts are known to; shared by all that the first control is held against.
LEVEL = 0.01
KNOWN = 3  # restarts beyond the first of their session
# Sixteen streams with EAGLE-3 on one H200: 1.9 % between server starts. Nothing but two modes was seen to differ by more.
UNKNOWN_SD = 0.02
_LACKING = "a drift, or nothing but two restarts: too few restarts of this arm are known"
_AT_MOST = 8.0  # times the starts there are: nobody takes more, and what lies that near an edge is not settled by them
_WORST = ("none", "unsure", "drifted")


class Known(NamedTuple):
    """What restarts of one arm differ by."""

    seen: int
    sd: float | None  # relative, as far as seen
    spread: Spread  # of one run, logarithmic, shrunk to the prior of restarts


class Drift(NamedTuple):
    """Of the run that lies farthest from the first, among those that decide."""

    state: Literal["none", "drifted", "unsure"]
    at: int  # which run, 1: the second
    change: float  # relative, of that run against the first
    interval: tuple[float, float] | None  # from the starts of the two runs alone
    comparison: Comparison
    floor: float  # relative, the larger of both floors
    restarts: float  # two restarts differ by no more than this, at LEVEL
    sd: float | None  # between restarts, as far as seen
    seen: int  # restarts that tell it
    why: str
    lacks_restarts: bool  # unsure only because too few of them are known
    lacks_starts: int  # about so many more starts in each run would tell; 0: they would not, or need not

    @property
    def known(self) -> bool:
        return self.seen >= KNOWN


def drift_among(runs: Sequence[RunValues], floor: Floor, stored: Sequence[RunValues] = ()) -> Drift:
    """Hold the first run of a session against each later one, in order of time; one value a start each.

    `stored`: runs of the same arm in other sessions. ValueError with fewer than two runs: nothing lies between.
    """
    if len(runs) < 2:
        raise ValueError(f"{len(runs)} control runs: a drift takes two")
    first, later = runs[0], runs[1:]
    level = max(floor.relative, floor.absolute / statistics.median(first.values))
    known = known_restarts(stored, later, floor=floor.relative)
    enough, alpha = known.seen >= KNOWN, LEVEL / len(later) / 2
    if enough:
        reach = float(scipy.special.stdtrit(float(known.spread.df), 1 - alpha)) * math.sqrt(
            2 * float(known.spread.variance)
        )
    else:
        reach = float(scipy.special.ndtri(1 - alpha)) * math.sqrt(2) * UNKNOWN_SD
    restarts = math.expm1(min(reach, WIDEST))
    found = []
    for at, run in enumerate(later, start=1):
        compared = compare(run.values, first.values)
        state, why = _state(compared, level, restarts, known=enough)
        interval = None if compared.interval is None else (compared.interval[0] - 1, compared.interval[1] - 1)
        found.append(
            Drift(
                state, at, compared.ratio - 1, interval, compared, level, restarts, known.sd, known.seen, why,
                why is _LACKING, _lacking(compared, max(level, restarts) if enough else level, state, why),
            )
        )  # fmt: skip
    return max(found, key=lambda one: (_WORST.index(one.state), abs(one.change)))


def _lacking(compared: Comparison, allowed: float, state: str, why: str) -> int:
    """Return how many more starts a run needs; the width of an interval shrinks with the root of their number."""
    fewest = min(compared.n_a, compared.n_b)
    if compared.interval is None:
        return compared.needed - fewest
    if state != "unsure" or why is _LACKING:
        return 0
    middle, edge = abs(math.log(compared.ratio)), math.log1p(allowed)
    half = (math.log(compared.interval[1]) - math.log(compared.interval[0])) / 2
    room = abs(edge - middle)
    if half > room * math.sqrt(_AT_MOST):
        return 0
    return max(1, math.ceil(fewest * (half / room) ** 2) - fewest)


def known_restarts(stored: Sequence[RunValues], now: Sequence[RunValues], *, floor: float) -> Known:
    """Return what restarts differ by: stored runs about their session's mean, runs of `now` but for a steady slope.

    Of two runs it is their difference, of more the second differences, which no straight line adds to: a sixth of their
    mean square is the variance of one run (after von Neumann 1941, Annals of Mathematical Statistics 12:367). `floor`:
    the metric's relative one, of which the prior is a part.
    """
    sessions: dict[str, list[float]] = {}
    for run in stored:
        sessions.setdefault(run.session, []).append(math.log(statistics.median(run.values)))
    seen = sums([np.array(group) for group in sessions.values()])
    squares, df, number = float(seen.squares), float(seen.df), int(seen.df)
    logs = np.array([math.log(statistics.median(run.values)) for run in now])
    if len(logs) > 1:
        own = _without_slope(logs)
        squares, df, number = squares + float(own.squares), df + float(own.df), number + len(logs) - 1
    spread = posterior((PRIOR_SHARE * floor) ** 2, Sums(np.asarray(squares), np.asarray(df)))
    return Known(number, math.sqrt(squares / df) if df else None, spread)


def _without_slope(values: Floats) -> Sums:
    """Return squares and degrees of freedom of values in order of time, two at least, whatever slope lies under them."""
    order = min(2, len(values) - 1)
    steps = np.diff(values, n=order)
    m = len(steps)
    if order == 1:
        return Sums(np.asarray(steps[0] ** 2 / 2), np.asarray(1.0))
    # Second differences of independent values: correlated by -2/3 with the next and by 1/6 with the one after it.
    df = m**2 / (m + 2 * (m - 1) * (2 / 3) ** 2 + 2 * max(0, m - 2) / 36)
    return Sums(np.asarray(df * np.mean(steps**2) / 6), np.asarray(df))


def _state(
    compared: Comparison, floor: float, restarts: float, *, known: bool
) -> tuple[Literal["none", "drifted", "unsure"], str]:
    if compared.interval is None:
        return "unsure", f"n={compared.n_a}+{compared.n_b} is too few for an interval"
    low, high = (math.log(end) for end in compared.interval)
    inner = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    outer = max(abs(low), abs(high))
    if outer <= math.log1p(floor):
        return "none", "less than a floor"
    if known and outer <= math.log1p(restarts):
        return "none", "no more than restarts of this arm differ by"
    if inner > math.log1p(max(floor, restarts)):
        beyond = (
            "restarts of this arm differ by" if known else "restarts of any server were seen to differ by"
        )
        return "drifted", f"more than {beyond}"
    if inner > math.log1p(floor) and not known:
        return "unsure", _LACKING
    return "unsure", "the starts spread too wide to tell"
