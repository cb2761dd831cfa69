"""What heat and power did to the cards while they were measured, and what it cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.record import Record
from tokgate.records.telemetry import GpuWindow, Window
from tokgate.verdicts.window import SLOWED, judged

from .readings import raw_series

FEWEST_CARDS = 3  # of two it cannot be said which is the odd one
APART_CLOCKS = 0.05  # healthy cards of one server keep within 2 % of each other under load


class Held(Record):
    """Windows of one workload in which cards were held back. `log` is what that cost: log of the slowdown, from 0 up."""

    log: float
    at_most: bool
    by: str
    words: str


def held_back(
    launches: Sequence[LaunchEvidence], workload: str, *, speculative: bool, most_mhz: float | None = None
) -> Held | None:
    """Return what cards that were held back cost under a workload; None where none was.

    Where a launch has starts of both kinds its own free starts tell: that much faster it was a moment before.
    Where every start was held back the clocks bound it: kernels that compute slow down as the clock does, those that
    wait for memory or for other cards less. `most_mhz`: the cards' highest clock, where no window shows a free one.
    """
    found: list[tuple[float, bool, str, str]] = []
    total = 0
    for launch in launches:
        windows = judged(launch, workload)
        total += bool(windows)
        hit = {w.batch: cards for w in windows if (cards := _slowed(w))}
        if not hit:
            continue
        slowed = [g for held in hit.values() for g in held]
        reasons = dict.fromkeys(r for g in slowed for r in SLOWED if (g.reasons or {}).get(r))
        words = (
            f"{launch.launch.id}: {len({g.index for g in slowed})} GPUs held back in {len(hit)} of {len(windows)} "
            f"starts of {workload} ({', '.join(reasons)}){_clock_words(windows, hit)}"
        )
        measured = _by_its_own_starts(launch, workload, set(hit), speculative=speculative)
        if measured is not None:
            part = _weight(len(hit) / len(windows), mean=speculative)
            found.append((max(0.0, measured) * part, False, "its own free starts", words))
        else:
            found.append((_by_clocks(windows, hit, most_mhz), True, "the clocks", words))
    if not found:
        return None
    return Held(
        # Launches that were free count as such: what is compared is the arm over all of them.
        log=math.fsum(log for log, *_ in found) / total,
        at_most=any(most for _, most, *_ in found),
        by=" and ".join(dict.fromkeys(by for *_, by, _ in found)),
        words="; ".join(words for *_, words in found),
    )


class Card(Record):
    """A card that ran slower than the others of its server in every window. `log` of the clocks, from 0 up."""

    gpu: int
    log: float
    words: str


def slow_card(launches: Sequence[LaunchEvidence], workloads: Sequence[str]) -> Card | None:
    """Return the one card whose clock lies apart from the others' while nothing holds all of them back."""
    ratios: dict[int, list[float]] = {}
    for launch in launches:
        for workload in workloads:
            for window in judged(launch, workload):
                told = {
                    g.index: g.sm_mhz.median
                    for g in window.gpus
                    if g.sm_mhz is not None and not _slowed(window)
                }
                if len(told) < FEWEST_CARDS:
                    continue
                for index, mhz in told.items():
                    others = statistics.median(v for i, v in told.items() if i != index)
                    ratios.setdefault(index, []).append(mhz / others if others > 0 else 1.0)
    slow = {
        index: max(found) for index, found in ratios.items() if found and 0 < max(found) < 1 - APART_CLOCKS
    }
    if len(slow) != 1:
        return None
    ((index, ratio),) = slow.items()
    return Card(
        gpu=index,
        log=-math.log(ratio),
        words=f"GPU {index} ran at {ratio:.0%} of the other cards' clock in each of {len(ratios[index])} windows",
    )


def _slowed(window: Window) -> tuple[GpuWindow, ...]:
    return tuple(g for g in window.gpus if any((g.reasons or {}).get(reason) for reason in SLOWED))


def _by_its_own_starts(
    launch: LaunchEvidence, workload: str, hit: set[int], *, speculative: bool
) -> float | None:
    metric = "cycle_ms" if speculative else "decode_tok_s"
    series = raw_series(launch, workload).get(metric)
    batches = sorted(
        {g.batch for g in launch.generations if g.workload == workload and g.good and not g.warmup}
    )
    if series is None or len(batches) != len(series.values):
        return None
    slow = [v for b, v in zip(batches, series.values, strict=True) if b in hit]
    free = [v for b, v in zip(batches, series.values, strict=True) if b not in hit]
    if not slow or not free:
        return None
    log = math.log(statistics.median(slow) / statistics.median(free))
    return log if speculative else -log


def _weight(share: float, *, mean: bool) -> float:
    """Return how much of the slow starts is in the number: a cycle is a mean of starts, a rate their median."""
    return share if mean else float(share > 0.5)


def _by_clocks(
    windows: Sequence[Window], hit: dict[int, tuple[GpuWindow, ...]], most_mhz: float | None
) -> float:
    usual = _usual(windows, hit) or most_mhz
    ratios = [
        min(g.sm_mhz.median for g in held if g.sm_mhz is not None) / usual
        for held in hit.values()
        if usual and any(g.sm_mhz is not None for g in held)
    ]
    return max(0.0, -math.log(statistics.median(ratios))) if ratios and min(ratios) > 0 else 0.0


def _usual(windows: Sequence[Window], hit: dict[int, tuple[GpuWindow, ...]]) -> float | None:
    """Return the clock of windows, warm-ups among them, in which nothing was held back."""
    free = [g.sm_mhz.median for w in windows if w.batch not in hit for g in w.gpus if g.sm_mhz is not None]
    return statistics.median(free) if free else None


def _clock_words(windows: Sequence[Window], hit: dict[int, tuple[GpuWindow, ...]]) -> str:
    now = [g.sm_mhz.median for held in hit.values() for g in held if g.sm_mhz is not None]
    hot = [g.celsius_max for held in hit.values() for g in held if g.celsius_max is not None]
    if not now:
        return ""
    usual = _usual(windows, hit)
    before = "" if usual is None else f", {usual:.0f} MHz in the others"
    return f": {min(now):.0f} MHz{'' if not hot else f' and {max(hot):.0f} °C'}{before}"
