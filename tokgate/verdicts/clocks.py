"""Clocks that differ where they should be one: between windows, between cards, between runs of an arm."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import Window

from .shortfall import Shortfall

# What the SM clock may differ by, as a share of the higher one. Kernels that are bound by launches or by arithmetic take
# as much longer as the clock is lower, and a step of eight cards as long as its slowest: 5 % of the clock is up to 5 % of
# the speed, where a floor is 2 %. An H200 that decodes (batch 1 and 16, 590 W) stands at 1980 MHz in every row of every
# window, after pauses as well.
CLOCK_SPREAD = 0.05
# At its power limit a card is regulated, and each a little otherwise: windows of 1.3 s of an H200 that prefills and
# decodes 64 streams had medians of 1815 to 1890 MHz, of one that multiplies matrices 1515 to 1545.
CAPPED_SPREAD = 0.10
# A median of fewer rows may be of the moment before or after the load.
FEWEST_ROWS = 3
_DO = (
    "look at power limits, cooling and persistence mode (nvidia-smi -q -d CLOCK,POWER,PERFORMANCE), lock the clocks "
    "(nvidia-smi -lgc) if the machine allows it, measure again"
)


class Clock(NamedTuple):
    where: str  # "start 5", or the id of a launch
    mhz: float
    capped: bool  # at its power limit meanwhile


def uneven(windows: Sequence[Window]) -> Iterable[Shortfall]:
    """Yield what is wrong with the clocks of one workload of one launch: medians of its judged windows."""
    clocks = _clocks(windows)
    workload = windows[0].workload if windows else ""
    wide = {index: _ends(told) for index, told in clocks.items() if _apart(*_ends(told))}
    if wide:
        index, (low, high) = max(wide.items(), key=lambda one: _share(*one[1]))
        cards = f"GPU {index}" if len(wide) == 1 else f"{len(wide)} GPUs"
        yield Shortfall(
            what=f"the clock of {cards} was not one in {workload}: GPU {index} ran at {low.mhz:.0f} MHz in {low.where} "
            f"and at {high.mhz:.0f} in {high.where}, more than {_limit(low):.0%} apart",
            do=_DO,
            evidence=tuple(f"GPU {i}: {_share(*e):.1%} between windows" for i, e in list(wide.items())[:8]),
        )
    usual = {index: _usual(f"GPU {index}", told) for index, told in clocks.items()}
    middle = statistics.median([one.mhz for one in usual.values()]) if usual else 0.0
    slow = [one for one in usual.values() if one.mhz < (1 - _limit(one)) * middle]
    if slow:
        slowest = min(slow, key=_mhz)
        yield Shortfall(
            what=f"{slowest.where} ran at {slowest.mhz:.0f} MHz in {workload}, the others at {middle:.0f}: all wait for it"
            + (f", and for {len(slow) - 1} more" if len(slow) > 1 else "")
            + (" (at its power limit)" if slowest.capped else ""),
            do=_DO,
            evidence=tuple(f"{one.where}: {one.mhz:.0f} MHz" for one in slow[:8]),
        )


def uneven_runs(launches: Sequence[LaunchEvidence], workload: str) -> Iterable[Shortfall]:
    """Yield a shortfall where the clock of a card moved between server runs of one arm: they are not alike."""
    usual: dict[int, list[Clock]] = {}
    for launch in launches:
        mine = [w for w in launch.windows if w.workload == workload and not w.warmup]
        for index, told in _clocks(mine).items():
            usual.setdefault(index, []).append(_usual(launch.launch.id, told))
    for index, runs in usual.items():
        slow, fast = _ends(runs)
        if _apart(slow, fast):
            yield Shortfall(
                what=f"the clock moved between server runs: GPU {index} ran at {slow.mhz:.0f} MHz in {workload} on "
                f"{slow.where}, at {fast.mhz:.0f} on {fast.where}, more than {_limit(slow):.0%} apart",
                do=_DO,
                evidence=tuple(f"{one.where}: GPU {index} at {one.mhz:.0f} MHz" for one in runs),
            )
            return


def _clocks(windows: Iterable[Window]) -> dict[int, list[Clock]]:
    """Return the median clock of each card in each window that has rows enough."""
    found: dict[int, list[Clock]] = {}
    for window in windows:
        for gpu in window.gpus:
            if gpu.sm_mhz is not None and gpu.rows >= FEWEST_ROWS and gpu.sm_mhz.median > 0:
                capped = "sw_power_cap" in (gpu.reasons or {})
                found.setdefault(gpu.index, []).append(
                    Clock(f"start {window.batch}", gpu.sm_mhz.median, capped)
                )
    return found


def _usual(where: str, told: Sequence[Clock]) -> Clock:
    capped = sum(one.capped for one in told) * 2 > len(told)
    return Clock(where, statistics.median([one.mhz for one in told]), capped)


def _ends(told: Sequence[Clock]) -> tuple[Clock, Clock]:
    return min(told, key=_mhz), max(told, key=_mhz)


def _mhz(one: Clock) -> float:
    return one.mhz


def _limit(slow: Clock) -> float:
    return CAPPED_SPREAD if slow.capped else CLOCK_SPREAD


def _apart(slow: Clock, fast: Clock) -> bool:
    return fast.mhz - slow.mhz > _limit(slow) * fast.mhz


def _share(slow: Clock, fast: Clock) -> float:
    return 1 - slow.mhz / fast.mhz
