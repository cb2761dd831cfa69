"""Exact bounds on a rate from few trials."""

from __future__ import annotations

import scipy


def clopper_pearson(seen: int, of: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the lower and the upper bound of a rate, each one-sided with this confidence; (0, 1) of no trial.

    Clopper and Pearson (Biometrika 1934): exact for independent trials of one and the same rate, whatever the rate.
    ValueError: more seen than tried.
    """
    if not 0 <= seen <= of:
        raise ValueError(f"{seen} of {of}")
    miss = 1 - confidence
    low = float(scipy.special.betaincinv(seen, of - seen + 1, miss)) if seen else 0.0
    high = float(scipy.special.betaincinv(seen + 1, of - seen, confidence)) if seen < of else 1.0
    return low, high
