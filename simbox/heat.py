"""Heat: how warm the GPUs are, and whether they throttle. The model and the ledger read the same function."""

from __future__ import annotations

from dataclasses import dataclass

from simbox.knobs import Knobs

IDLE_C, BUSY_C, HOT_C = 34, 61, 92
IDLE_W, BUSY_W, HANG_W = 58.0, 412.0, 96.0
POWER_LIMIT_W = 600.0
CAPPED_W = 300.0  # the power limit of the card whose rank is slow
MAX_MHZ, IDLE_MHZ = 2430, 2430
MEMORY_MHZ = 12481


@dataclass(frozen=True)
class Heat:
    """One GPU at one moment."""

    celsius: int
    watts: float
    sm_mhz: int
    utilization: int
    throttled: bool  # software thermal slowdown
    factor: float  # on kernel times
    capped: bool = False  # at its power limit


def heat(knobs: Knobs, *, busy: bool, hanging: bool, loaded_s: float, gpu: int | None = None) -> Heat:
    """Return a GPU's state; `loaded_s`: seconds of load since the server was ready. `gpu` None: one like all others."""
    if hanging:
        # A spinning kernel: 100 % busy by the counter, and the power draw gives it away.
        return Heat(IDLE_C + 6, HANG_W, MAX_MHZ, 100, throttled=False, factor=1.0)
    hot = 0 <= knobs.heat_after_s <= loaded_s
    if hot and busy:
        return Heat(
            HOT_C,
            BUSY_W * 0.8,
            round(MAX_MHZ / knobs.heat_factor),
            99,
            throttled=True,
            factor=knobs.heat_factor,
        )
    if hot:
        return Heat(HOT_C - 8, IDLE_W, MAX_MHZ, 0, throttled=False, factor=knobs.heat_factor)
    if busy and gpu is not None and gpu == knobs.slow_rank:
        slow = round(MAX_MHZ / knobs.slow_rank_factor)
        return Heat(BUSY_C - 9, CAPPED_W - 4, slow, 99, throttled=False, factor=1.0, capped=True)
    if busy:
        return Heat(BUSY_C, BUSY_W, MAX_MHZ, 98, throttled=False, factor=1.0)
    return Heat(IDLE_C, IDLE_W, IDLE_MHZ, 0, throttled=False, factor=1.0)
