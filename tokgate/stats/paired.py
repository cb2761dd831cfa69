"""How much longer one of two things takes than its own twin, when they were taken in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokgate.records.record import Record

from .summary import summarise


class Paired(Record):
    """`change` and `interval` are first / second - 1."""

    n: int
    change: float
    interval: tuple[float, float] | None  # None: too few pairs
    confidence: float
    warnings: tuple[str, ...] = ()


def paired(pairs: Sequence[tuple[float, float]], *, confidence: float = 0.95) -> Paired:
    """Return the median ratio of a pair with its interval between two order statistics, on logarithms.

    Assumed: pairs are independent draws; what both members of a pair share cancels. Nothing about the shape of the
    distribution. Raises ValueError without a pair, or on a value that is not positive and finite.
    """
    if not all(math.isfinite(v) and v > 0 for pair in pairs for v in pair):
        raise ValueError(f"a value that is not positive and finite: {list(pairs)!r}")
    found = summarise([math.log(a) - math.log(b) for a, b in pairs], confidence=confidence)
    interval = found.interval
    return Paired(
        n=found.n,
        change=math.expm1(found.median),
        interval=None if interval is None else (math.expm1(interval[0]), math.expm1(interval[1])),
        confidence=confidence,
        warnings=found.warnings,
    )
