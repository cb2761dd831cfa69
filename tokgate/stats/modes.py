"""Do restarts of one server fall into two modes: two groups of values with nothing between them.

A server whose collective library picks one of two paths at its start is fast in one run and slow in the next, and the
same again (NCCL 2.30.4: CV 26.5 % by restart). Neither group is a change; what a session of few runs measures is luck.

The rule. Values of runs, on a logarithm, are cut in two at every place. A cut shows two modes when the gap there

- exceeds the metric's relative floor, since less than that is never called; and
- lies within a session: some session has runs on both sides of it. Where one session lies on one side and the next on
  the other, something has changed between them, and that is not for this rule; and
- is far larger than the spread inside the groups, in one of two ways: GAP times that spread shrunk to the prior of
  restarts, from three runs on; or, with two runs in each group at least, as many times the bare spread as
  ALONE says, whatever the noise is.

False alarms, of 3 to 16 unimodal restarts of one session under a floor of 2 % (tests/stats/test_modes.py simulates them
again; 100 000 sessions each): normal values at most 0.02 % where restarts differ by 0.7 %, 0.2 % at 1.0 % and 1.1 % at
1.9 %; with heavy tails (Student's t, 4 degrees of freedom) 0.3 %, 0.4 % and 2 %. Two modes 6.4 % apart whose runs differ by
0.12 % are found whenever a session of three or more has been in both; 3 % apart, in eight of ten sessions of six.

Two runs show nothing: any two values have a gap between them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokgate.records.record import Record

from .levels import PRIOR_SHARE, Floats, RunValues, sums

FEWEST = 3
WEIGHT = 4.0  # restarts that the prior counts for in the shrunk spread
# Three tight runs and one 5.4 % away; at half of it restarts that differ by 1.9 % would be called in one of five cases.
GAP = 12.0
# Runs -> gap / bare spread that unimodal noise passes in 0.5 % of cases, with two runs a group at least: simulated for
# normal values; heavier tails stay below (t with 4 and with 2 degrees of freedom). From eight runs on the last one.
ALONE = {4: 23.0, 5: 14.0, 6: 10.0, 7: 8.0, 8: 6.0}

Bools = npt.NDArray[np.bool_]


class Split(NamedTuple):
    """The cut with the widest gap among those that show two modes; arrays of the leading shape."""

    found: Bools
    gap: Floats  # on the logarithm; 0 where nothing was found
    within: Floats  # spread inside the groups, shrunk
    cut: Floats  # values above it are of the upper group; nan where nothing was found


def two_modes(values: Floats, sessions: npt.NDArray[np.int_], *, prior_sd: float, floor: float) -> Split:
    """Look for two modes among `values`, logarithms (..., k) of k runs; `sessions` (k,) says which ran together.

    `prior_sd` is that of restarts, `floor` the metric's relative one. Fewer than FEWEST runs show nothing.
    """
    shape, k = values.shape[:-1], values.shape[-1]
    nothing = Split(np.zeros(shape, bool), np.zeros(shape), np.zeros(shape), np.full(shape, np.nan))
    if k < FEWEST:
        return nothing
    ordered = np.sort(values, axis=-1)
    found, gap, within, cut = nothing
    for below in range(1, k):
        low, high = ordered[..., :below], ordered[..., below:]
        here = high[..., 0] - low[..., -1]
        squares = _squares(low) + _squares(high)
        shrunk = np.sqrt((WEIGHT * prior_sd**2 + squares) / (WEIGHT + k - 2))
        far = here > GAP * shrunk
        if min(below, k - below) > 1:
            far |= here > ALONE[min(k, max(ALONE))] * np.sqrt(squares / (k - 2))
        at = (high[..., 0] + low[..., -1]) / 2
        shows = far & (here > np.log1p(floor)) & _both_in_one(values > at[..., None], sessions) & (here > gap)
        found, gap = found | shows, np.where(shows, here, gap)
        within, cut = np.where(shows, shrunk, within), np.where(shows, at, cut)
    return Split(found, gap, within, cut)


class Restarts(Record):
    """What server runs of one configuration differ by."""

    runs: int
    sessions: int
    seen: int  # restarts beyond the first of each session: degrees of freedom
    sd: float | None  # between runs of one session, relative; None: no session has two
    values: tuple[tuple[str, str, float], ...]  # session, launch and value, in the metric's unit
    gap: float | None = (
        None  # of two modes: how far the lower lies below the upper, 0.06; None: none were found
    )
    groups: tuple[tuple[float, int], tuple[float, int]] | None = (
        None  # median and runs of the lower, of the upper
    )
    came_back: bool = False  # some session changed groups and changed again: no drift does that


def restarts_of(runs: Sequence[RunValues], *, floor: float) -> Restarts:
    """Describe the runs of one configuration, those of a session in the order of time; ValueError without any."""
    if not runs:
        raise ValueError("no server run: nothing is known of restarts")
    values = [statistics.median(run.values) for run in runs]
    names = list(dict.fromkeys(run.session for run in runs))
    sessions = np.array([names.index(run.session) for run in runs])
    logs = np.log(np.array(values))
    seen = sums([logs[sessions == number] for number in range(len(names))])
    restarts = int(seen.df)
    told = Restarts(
        runs=len(runs),
        sessions=len(names),
        seen=restarts,
        sd=math.sqrt(float(seen.squares) / restarts) if restarts else None,
        values=tuple((run.session, run.launch, value) for run, value in zip(runs, values, strict=True)),
    )
    split = two_modes(logs, sessions, prior_sd=PRIOR_SHARE * floor, floor=floor)
    if not split.found:
        return told
    above = logs > split.cut
    halves = [[v for v, up in zip(values, above, strict=True) if bool(up) is side] for side in (False, True)]
    changes = [sum(bool(a != b) for a, b in pairwise(above[sessions == n])) for n in range(len(names))]
    low, high = ((statistics.median(half), len(half)) for half in halves)
    return told.model_copy(
        update={
            "gap": 1 - low[0] / high[0],
            "groups": (low, high),
            "came_back": max(changes) > 1,
        }
    )


def _squares(group: Floats) -> Floats:
    return np.asarray(np.sum((group - group.mean(axis=-1, keepdims=True)) ** 2, axis=-1))


def _both_in_one(above: Bools, sessions: npt.NDArray[np.int_]) -> Bools:
    """Whether some session has runs on both sides."""
    found = np.zeros(above.shape[:-1], bool)
    for session in np.unique(sessions):
        mine = above[..., sessions == session]
        found |= mine.any(axis=-1) & ~mine.all(axis=-1)
    return found
