"""The simple rule for comparing two series: is one faster than the other, and by how much."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records.record import Record

SMALLEST_SIDE = 4  # below this no arrangement of 4 + 4 values reaches p = 0.05
EXACT_UP_TO = 60  # values a side; above, the normal approximation is good to three digits


class Comparison(Record):
    """`ratio` and `interval` are a / b: 1.34 means a is 34 % more than b."""

    n_a: int
    n_b: int
    ratio: float
    interval: tuple[float, float] | None  # None: too few values for the stated confidence
    p: float  # two-sided; ties count as no difference
    confidence: float
    established: bool  # the interval exists and does not hold 1
    needed: int  # values a side without which nothing can be established
    warnings: tuple[str, ...] = ()


def p_words(p: float) -> str:
    """Return "p=0.026", or "p<0.001": no p is 0."""
    return f"p={p:.3f}" if p >= 0.001 else "p<0.001"


def compare(a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95) -> Comparison:
    """Compare two series of positive numbers by their ratio.

    The ratio is the Hodges-Lehmann estimate on logarithms: the median of all log(a_i / b_j). The
    interval inverts the Mann-Whitney test (Hollander, Wolfe and Chicken, Nonparametric
    Statistical Methods, 3rd ed., 4.3): the k-th smallest and k-th largest of those, with k
    from the exact null distribution. Assumed: independent values, and that a and b differ by a
    factor only; nothing about the shape of the distribution.

    What it does not know: values of one server run share that run's luck. Two runs of the same
    server may differ, established, by less than a floor; that is what the floors are for.

    Raises ValueError when a side is empty or a value is not a positive finite number.
    """
    for name, side in (("a", a), ("b", b)):
        if not side:
            raise ValueError(f"side {name} is empty: nothing can be compared")
        if not all(math.isfinite(v) and v > 0 for v in side):
            raise ValueError(f"side {name} holds a value that is not positive and finite: {list(side)!r}")
    differences = sorted(math.log(x) - math.log(y) for x in a for y in b)
    pairs = len(differences)
    below, ties = sum(d < 0 for d in differences), sum(d == 0 for d in differences)
    smaller_side = min(below, pairs - below - ties) + ties
    tails = _tails(len(a), len(b))
    needed = needed_a_side(confidence)
    rank = next((k for k in range(pairs // 2, 0, -1) if 2 * tails[k - 1] <= 1 - confidence), None)
    interval: tuple[float, float] | None = None
    warnings: list[str] = []
    if min(len(a), len(b)) < needed or rank is None:
        warnings.append(f"n={len(a)}+{len(b)} is too few to establish a difference: it needs {needed} a side")
    else:
        interval = (math.exp(differences[rank - 1]), math.exp(differences[pairs - rank]))
    if ties and interval is not None and ties > pairs // 2:
        warnings.append(f"{ties} of {pairs} pairs are equal to the last digit: a clock too coarse?")
    return Comparison(
        n_a=len(a),
        n_b=len(b),
        ratio=math.exp(statistics.median(differences)),
        interval=interval,
        p=min(1.0, 2 * tails[min(smaller_side, pairs)]),
        confidence=confidence,
        established=interval is not None and not interval[0] <= 1 <= interval[1],
        needed=needed,
        warnings=tuple(warnings),
    )


def needed_a_side(confidence: float = 0.95) -> int:
    """Return the smallest n with which two equal sides can differ at this confidence: 4 at 95 %."""
    n = SMALLEST_SIDE
    while 2 / math.comb(2 * n, n) > 1 - confidence:
        n += 1
    return n


def _tails(n: int, m: int) -> list[float]:
    """Return P(U <= u) for u = 0 … n*m under the null hypothesis without ties."""
    if max(n, m) > EXACT_UP_TO:
        normal = statistics.NormalDist(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12))
        return [normal.cdf(u + 0.5) for u in range(n * m + 1)]
    # Counts of U are the coefficients of the Gaussian binomial (n + m over n):
    # multiply by (1 - q^(m+i)), divide by (1 - q^i), for i = 1 … n.
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    total = math.comb(n + m, n)
    running = 0
    tails = []
    for count in counts:
        running += count
        tails.append(running / total)
    return tails
