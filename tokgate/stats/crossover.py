"""Gain by concurrency: up to which measured level speculation wins. Nothing is said beyond the levels measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tokgate.records.record import Record

from .compare import compare


class Level(Record):
    """Speculation against its twin at one concurrency; ratio above 1 is a gain."""

    concurrency: int
    n: tuple[int, int]  # values of the arm and of its twin
    ratio: float
    interval: tuple[float, float] | None

    @property
    def wins(self) -> bool | None:
        """True or False where the whole interval says so; None: not decided."""
        if self.interval is None or self.interval[0] <= 1 <= self.interval[1]:
            return None
        return self.interval[0] > 1


class Crossover(Record):
    levels: tuple[Level, ...] = ()
    wins_up_to: int | None = None  # the highest level below the first loss at which it surely wins
    stops_at: int | None = None  # the lowest level at which it surely loses; None: at none that was measured
    unknown: dict[int, str] = {}  # level -> why it was not compared
    words: str


def crossover(
    arm: Mapping[int, Sequence[float]], twin: Mapping[int, Sequence[float]], *, confidence: float = 0.95
) -> Crossover:
    """Compare throughput (tok/s) level by level; never raises on odd numbers.

    Where speculation stops winning lies between `wins_up_to` and `stops_at`: an interval of measured levels, of which
    those in between are not decided.
    """
    levels: list[Level] = []
    unknown: dict[int, str] = {}
    for concurrency in sorted({*arm, *twin}):
        mine, theirs = arm.get(concurrency, ()), twin.get(concurrency, ())
        if why := _why_not(mine, theirs, confidence):
            unknown[concurrency] = why
            continue
        found = compare(mine, theirs, confidence=confidence)
        levels.append(
            Level(
                concurrency=concurrency,
                n=(found.n_a, found.n_b),
                ratio=found.ratio,
                interval=found.interval,
            )
        )
    return across(levels, unknown)


def across(levels: Sequence[Level], unknown: Mapping[int, str]) -> Crossover:
    """Return what levels that were compared say together, whatever compared them."""
    levels = sorted(levels, key=lambda level: level.concurrency)
    losses = [level.concurrency for level in levels if level.wins is False]
    stops_at = min(losses, default=None)
    wins = [v.concurrency for v in levels if v.wins and (stops_at is None or v.concurrency < stops_at)]
    return Crossover(
        levels=tuple(levels),
        wins_up_to=max(wins, default=None),
        stops_at=stops_at,
        unknown=dict(unknown),
        words=_words(levels, max(wins, default=None), stops_at),
    )


def _why_not(mine: Sequence[float], theirs: Sequence[float], confidence: float) -> str | None:
    for name, side in (("the arm", mine), ("its twin", theirs)):
        if not side:
            return f"{name} was not measured at this level"
        if not all(math.isfinite(v) and v > 0 for v in side):
            return f"{name} has a value that is no throughput"
    return None if 0 < confidence < 1 else f"a confidence lies between 0 and 1, not at {confidence}"


def _words(levels: Sequence[Level], wins_up_to: int | None, stops_at: int | None) -> str:
    if not levels:
        return "no level was measured with and without speculation"
    measured = ", ".join(str(level.concurrency) for level in levels)
    if stops_at is None:
        if wins_up_to is None:
            return f"neither a gain nor a loss is established at any level measured ({measured})"
        above = [v.concurrency for v in levels if v.concurrency > wins_up_to]
        undecided = f", not decided at {', '.join(map(str, above))}" if above else ""
        return f"wins up to {wins_up_to}{undecided}; a level at which it loses was not measured ({measured})"
    loss = next(v for v in levels if v.concurrency == stops_at)
    again = [v.concurrency for v in levels if v.concurrency > stops_at and v.wins]
    odd = (
        f"; yet wins again at {', '.join(map(str, again))}: one of the two is not what it seems"
        if again
        else ""
    )
    lost = f"loses {1 - loss.ratio:.0%} at {stops_at}"
    if wins_up_to is None:
        return f"{lost}, the first level decided ({measured} measured){odd}"
    between = [v.concurrency for v in levels if wins_up_to < v.concurrency < stops_at]
    undecided = f", not decided at {', '.join(map(str, between))}" if between else ""
    return f"wins up to {wins_up_to}{undecided}, {lost} ({measured} measured){odd}"
