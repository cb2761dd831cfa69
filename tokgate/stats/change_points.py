"""Where the level of a number changed for good, over the sessions of a history.

PELT (Killick, Fearnhead and Eckley 2012) of the library ruptures, with squared error about each segment's mean, on
logarithms. Three choices keep noise from being told as news; benchmarks/change_points.py shows what they give:

- the penalty of a change is (5 ln n + 8) variances. Of histories in which nothing changes, 6 to 200 sessions that differ by
  0.25 to 1 % (normal, or t with 4 degrees of freedom), at most 1.5 % are told of one. Where each session remembers 0.3 of
  the one before, which real machines may, it is 1 % of those that differ by 0.5 %, 8 % by 1 %. A server with two modes has
  two levels, and is told so: up to three of four histories of 200 sessions.
- a segment is of three sessions at least, and a single one far from its neighbours counts as they do: one bad day is no
  new level.
- a change smaller than `least` is not told.

A loss of 3 % is told in time by 99 % of the histories after its third session where sessions differ by 0.5 %, by 90 % after
its eighth where they differ by 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tokgate.records.record import Record

from .levels import PRIOR_DF

SHORTEST = 3  # sessions of a level
PENALTY = (5.0, 8.0)  # times ln n, and beside it, in variances of one session
OUTLIER = 3.0  # standard deviations off the median of a session and its two neighbours on either side
_NEIGHBOURS = 2
# Middle of |difference of two normal values|, in standard deviations of one.
_MIDDLE_OF_DIFFERENCES = 0.6745 * math.sqrt(2)

Floats = npt.NDArray[np.float64]


class ChangePoint(Record):
    """A level that ended and the one that followed; `at` is the place of the first value of the new one."""

    at: int
    before: float  # medians, in the unit of the values
    after: float
    n_before: int  # values of the old level, back to the change before it
    n_after: int

    @property
    def change(self) -> float:
        return self.after / self.before - 1


def change_points(values: Sequence[float], *, prior_sd: float, least: float) -> tuple[ChangePoint, ...]:
    """Return the changes of level of positive values in order of time, oldest first; () of fewer than six.

    `prior_sd`: what one session is expected to differ by, relative, while few have shown it. `least`: the smallest
    relative change that is told.
    """
    if len(values) < 2 * SHORTEST:
        return ()
    if not all(math.isfinite(v) and v > 0 for v in values):
        raise ValueError("values must be positive and finite")
    logs = np.log(np.asarray(values, dtype=float))
    sd = _spread(logs, prior_sd)
    penalty = (PENALTY[0] * math.log(len(logs)) + PENALTY[1]) * sd**2
    # Here and not above: it takes half a second, and most sessions have no history to search.
    import ruptures  # noqa: PLC0415

    # KernelCPD with the linear kernel is PELT with squared error, in C.
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(
        _without_outliers(logs, sd).reshape(-1, 1)
    )
    ends = [int(end) for end in search.predict(pen=penalty)]
    return tuple(_told(logs, [0, *ends], least))


def _spread(logs: Floats, prior_sd: float) -> float:
    """Return the standard deviation of one session, from differences of neighbours: a change of level spoils one."""
    seen = float(np.median(np.abs(np.diff(logs)))) / _MIDDLE_OF_DIFFERENCES
    # A median of differences knows about half as much as as many values would.
    df = (len(logs) - 1) / 2
    return math.sqrt((PRIOR_DF * prior_sd**2 + df * seen**2) / (PRIOR_DF + df))


def _without_outliers(logs: Floats, sd: float) -> Floats:
    """Put a value that is far from its neighbours' median to that median (Hampel's filter)."""
    middles = np.array(
        [np.median(logs[max(0, i - _NEIGHBOURS) : i + _NEIGHBOURS + 1]) for i in range(len(logs))]
    )
    return np.where(np.abs(logs - middles) > OUTLIER * sd, middles, logs)


def _told(logs: Floats, edges: list[int], least: float) -> list[ChangePoint]:
    """Leave out edges between levels that hardly differ: their sessions are of one level."""
    kept = [edges[0]]
    for here, end in pairwise(edges[1:]):
        before, after = np.median(logs[kept[-1] : here]), np.median(logs[here:end])
        if abs(math.expm1(float(after - before))) >= least:
            kept.append(here)
    kept.append(edges[-1])
    found = []
    for start, here, end in zip(kept, kept[1:], kept[2:], strict=False):
        found.append(
            ChangePoint(
                at=here,
                before=math.exp(float(np.median(logs[start:here]))),
                after=math.exp(float(np.median(logs[here:end]))),
                n_before=here - start,
                n_after=end - here,
            )
        )
    return found
