"""What accept length a pinned arm must show, from how SGLang draws it.

SGLANG_SIMULATE_ACC_LEN = L (SGLang 0.5.23, speculative/spec_utils.py, sample_simulated_acc_len): each
step draws one length for the whole batch. Method match-expected, the default, draws floor(L) or
floor(L) + 1 with mean L; method multinomial rounds and clamps a normal(L, 1). Both stay within 1 and
num_steps + 1.

A generation of n tokens has one token from prefill, and its last call may be cut short by the
length limit: n = 1 + sum of draws - cut, where 0 <= cut <= longest draw - 1.
"""

from __future__ import annotations

import math
import statistics
from typing import Literal

from tokgate.records.record import Record

SIGMAS = 4.0  # a true pin is called false in 6 of 100 000 runs
Method = Literal["match-expected", "multinomial"]


class PinnedRange(Record):
    expected: float  # mean of the draws
    low: float  # of completion tokens / verify calls, over all generations together
    high: float


def pinned_range(
    pin: float, *, num_steps: int, method: Method, generations: int, verify_calls: int, concurrency: int
) -> PinnedRange:
    """Return the accept lengths, pooled over `generations`, that are compatible with the pin.

    The requests of one batch share their draws, so there are verify_calls / concurrency of them
    at least. Raises ValueError on no generations or no verify calls.
    """
    if generations < 1 or verify_calls < 1:
        raise ValueError(f"{generations} generations with {verify_calls} verify calls show no accept length")
    chances = _chances(pin, num_steps + 1, method)
    mean = sum(length * chance for length, chance in chances.items())
    variance = sum((length - mean) ** 2 * chance for length, chance in chances.items())
    longest = max(length for length, chance in chances.items() if chance > 0)
    noise = SIGMAS * math.sqrt(max(variance, 0.0) / max(1.0, verify_calls / concurrency))
    most_cut = longest - 1
    return PinnedRange(
        expected=mean,
        low=mean - noise - generations * max(0, most_cut - 1) / verify_calls,
        high=mean + noise + generations / verify_calls,
    )


def _chances(pin: float, longest: int, method: Method) -> dict[int, float]:
    """Return the chance of each length that one step may draw."""
    if method == "multinomial":
        normal = statistics.NormalDist(pin, 1.0)
        inner = {n: normal.cdf(n + 0.5) - normal.cdf(n - 0.5) for n in range(2, longest)}
        if longest == 1:
            return {1: 1.0}
        return {1: normal.cdf(1.5), **inner, longest: 1 - normal.cdf(longest - 0.5)}
    held = max(1.0, min(float(longest), pin))
    lower = math.floor(held)
    upper_chance = held - lower
    return {lower: 1.0} if upper_chance == 0 else {lower: 1 - upper_chance, lower + 1: upper_chance}
