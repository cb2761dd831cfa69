"""How many starts one launch takes: more where they spread, never because of where they lie.

A launch's number is the median of its barrier starts; for normal values its standard error is sqrt(pi/2) s / sqrt(n).
Starts are added until that is a tenth of the loss that must be seen, or a cap is reached. Only s is looked at, which is
why nothing has to be paid for it: the mean of normal values is independent of their variance, so a number of values that
goes by the variance alone leaves the mean what it was (Stein 1945, "A two-sample test for a linear hypothesis whose power
is independent of the variance"); for any symmetric distribution the median's error stays symmetric about 0, since a
mirrored series stops at the same place. What is not left as it was is s itself: a series that stops because it has
become quiet looks a little too quiet. That is harmless here, since a verdict's bounds come from what server runs differ
by (levels.py), of which the starts are a small part.

Asked after each start, which is Anscombe's and Chow and Robbins's sequential rule (1965, "On the asymptotic theory of
fixed-width sequential confidence intervals for the mean"), with FEWEST values before it may stop.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .levels import MEDIAN_FACTOR

FEWEST = 6  # a variance of fewer is no ground to stop on; an interval of their median needs as many
PART = (
    0.1  # of the loss that must be seen: then starts add 0.5 % to a variance that restarts are the whole of
)


def enough_starts(values: Sequence[float], *, detect: float, cap: int) -> bool:
    """Say whether a launch has starts enough. `values`: positive, one a start; `detect`: relative, 0.03 for 3 %.

    `cap`: starts at most. Values that are missing or not positive say nothing, and ask for no more.
    """
    if len(values) >= cap:
        return True
    if not values or any(not (math.isfinite(value) and value > 0) for value in values):
        return True
    return len(values) >= FEWEST and standard_error(values) <= PART * detect


def standard_error(values: Sequence[float]) -> float:
    """Return that of the median, on the scale of logarithms; ValueError on fewer than two or not positive values."""
    if len(values) < 2:
        raise ValueError(f"{len(values)} values have no spread")
    return math.sqrt(MEDIAN_FACTOR / len(values)) * statistics.stdev(math.log(value) for value in values)
