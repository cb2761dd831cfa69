"""How much one number differs by itself: from start to start, from server run to server run, from session to session.

The unit of evidence is one server run: its value is the median of its barrier starts, on the metric's scale. Restarts
are a level of variance of their own (two runs of one server may differ a hundred times more than two starts of one run),
so the count of starts says little, the count of runs nearly all.

Few runs say little about how much runs differ, so each variance is shrunk towards a documented prior, a scaled inverse
chi-square: (d0 s0^2 + SS) / (d0 + d) for squares SS of d degrees of freedom, and a t distribution says what follows (Smyth
2004, "Linear models and empirical Bayes methods", sec. 3: the moderated t). s0 is PRIOR_SHARE of the metric's floor, as a
floor is set above what a number differs by itself. The prior is worth PRIOR_WEIGHT draws as a variance and PRIOR_DF degrees
of freedom. Of sessions a loss may count on DOUBT fewer of these than a pass: sessions are few, nothing in a run tells how
far they lie apart, and on a host where that is far more than the prior says a loss that is none must stay rare all the
same. Measured in benchmarks/decisions.py: without, sessions 5 % apart had a false alarm in 2 % of cases.

All functions take numpy arrays with any leading dimensions, so that a benchmark can judge thousands of simulated
sessions with the code that judges one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokgate.records.record import Record

Floats = npt.NDArray[np.float64]

# One H200: 0.12 % between restarts at one stream, 0.7 to 1.9 % at sixteen; a quiet CPU 1 %; sessions 0.8 % apart. A
# quarter of the 2 % floor lies among them. Worth as much as two draws, it is overruled by the six of a baseline.
PRIOR_SHARE = 0.25
PRIOR_WEIGHT = 2.0
SESSIONS_WEIGHT = 1.0  # the prior on sessions may be wrong by more
PRIOR_DF = 4.0
DOUBT = 2.0
# Variance of a median of normal values against that of their mean; exact for many, 10 % too much for six.
MEDIAN_FACTOR = math.pi / 2


class RunValues(Record):
    """What one server run measured of one metric; values are positive, one a barrier start, in order."""

    session: str  # run id of the gate session
    launch: str
    values: tuple[float, ...]


class Spread(NamedTuple):
    """A variance and the degrees of freedom that it is known with; arrays of one shape."""

    variance: Floats
    df: Floats


class Sums(NamedTuple):
    """Squares about the mean of each group, summed over groups, with their degrees of freedom."""

    squares: Floats
    df: Floats


def sums(groups: Sequence[Floats]) -> Sums:
    """Add up the squares about each group's own mean; groups are (..., n), of any n from 1, of equal leading shape."""
    squares, df = np.zeros(()), 0.0
    for group in groups:
        squares = squares + np.sum((group - group.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
        df += group.shape[-1] - 1
    return Sums(np.asarray(squares, dtype=float), np.full(np.shape(squares), df))


def posterior(prior_variance: Floats | float, seen: Sums, *, weight: float = PRIOR_WEIGHT) -> Spread:
    """Shrink what was seen towards a prior."""
    variance = (weight * prior_variance + seen.squares) / (weight + seen.df)
    return Spread(variance, PRIOR_DF + seen.df)


def of_a_median(starts: Floats | float, n: Floats | float) -> Floats:
    """Return the variance that a run's median of `n` starts has from the starts' own variance alone."""
    count = np.asarray(n, dtype=float)
    # Of one or two the median is the mean.
    return np.asarray(np.where(count <= 2, 1.0, MEDIAN_FACTOR) * starts / count)


def of_runs(groups: Sequence[Floats], by_starts: Floats | float, prior_sd: Floats | float) -> Spread:
    """Return the variance of one run's value about what the session's runs have in common.

    `groups`: values of runs, (..., k), of one configuration in one session each. `by_starts`: what the starts within a
    run make a run's value vary by; runs differ by that much at least.
    """
    found = posterior(np.square(prior_sd) + by_starts, sums(groups))
    return Spread(np.maximum(found.variance, by_starts), found.df)


class Sessions(NamedTuple):
    """What several sessions of one configuration have in common, and how far each lies about it."""

    mean: Floats
    whole: Spread  # of the mean of one session's runs
    own: Spread  # of one session, its runs' variance not counted
    number: int
    runs_each: float  # harmonic mean of the runs in a session


def of_sessions(groups: Sequence[Floats], runs: Spread, prior_sd: Floats | float) -> Sessions:
    """`groups`: values of runs, (..., k), one group a session; sessions weigh the same, however many runs they have."""
    means = np.stack([group.mean(axis=-1) for group in groups], axis=-1)
    each = len(groups) / math.fsum(1 / group.shape[-1] for group in groups)
    whole = posterior(np.square(prior_sd) + runs.variance / each, sums([means]), weight=SESSIONS_WEIGHT)
    own = np.maximum(whole.variance - runs.variance / each, 0.0)
    return Sessions(means.mean(axis=-1), whole, Spread(own, whole.df), len(groups), each)


def together(parts: Sequence[Spread]) -> Spread:
    """Add variances; of the degrees of freedom the fewest are left.

    Not the sum of Welch and Satterthwaite: these are no independent estimates. Both arms of a twin have one and the same
    spread where they are one configuration, and else every level is shrunk to a prior that may be wrong for all of
    them. With the sum 15 % of sessions whose restarts were 3 % apart had a false alarm.
    """
    total = np.asarray(sum(part.variance for part in parts), dtype=float)
    fewest = np.minimum.reduce([np.broadcast_to(part.df, total.shape) for part in parts])
    return Spread(total, fewest)
