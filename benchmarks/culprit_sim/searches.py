"""Ways to find the unit that costs: ours, by the product's own code, and what people do without it."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

from tokgate.stats.decision import Rule
from tokgate.stats.group_testing import Run, search
from tokgate.stats.next_prefixes import Done, next_round, opening

from .worlds import Box

MOST = 7  # server runs of one prefix: sampling.most_restarts = 6, and the first
BUDGET = 60  # server runs behind the opening
LIMIT = 0.02
RULE = Rule(higher_is_better=True, relative=LIMIT, absolute=0.0, level=0.01, miss=0.05)


class Named(NamedTuple):
    units: frozenset[int]  # that are said to cost, each by itself
    groups: tuple[tuple[int, int], ...] = ()  # first and last unit of what costs together
    undecided: bool = False


def ours(box: Box, units: int, *, inside: bool = False) -> Named:
    measured: dict[int, list[Run]] = {}
    step, number, since = opening(units), 0, 0
    while True:
        number += 1
        for prefix in step.prefixes:
            measured.setdefault(prefix, []).append(Run(number, box.measure(prefix)))
            since = since + 1 if prefix else 0
        base = [statistics.median(run.values.values) for run in measured[0]]
        found = search(measured, RULE, units, moved=abs(base[-1] / base[0] - 1))
        left = BUDGET + 4 - box.runs
        going = next_round(found, measured, affordable=left, most=MOST, since_base=since, inside=inside)
        if isinstance(going, Done):
            called = [part for part in found.parts if part.called]
            together = [part for part in (*called, *found.spread) if part.size > 1]
            return Named(
                frozenset(part.last for part in called if part.size == 1),
                tuple((part.first + 1, part.last) for part in together),
                bool(going.open),
            )
        step = going


def every_prefix(box: Box, units: int) -> Named:
    """Two server runs of every prefix, to and fro; a unit costs where its prefix is slower than the one before by LIMIT."""
    values: dict[int, list[float]] = {}
    for prefix in (*range(units + 1), *reversed(range(units + 1))):
        values.setdefault(prefix, []).append(statistics.median(box.measure(prefix).values))
    mean = {prefix: math.exp(statistics.fmean(map(math.log, own))) for prefix, own in values.items()}
    return Named(frozenset(k for k in range(1, units + 1) if mean[k] < mean[k - 1] * (1 - LIMIT)))


def git_bisect(box: Box, units: int) -> Named:
    """One server run a step, good above half of the way between base and head: what a script for git bisect does."""
    good, bad = statistics.median(box.measure(0).values), statistics.median(box.measure(units).values)
    if bad > good * (1 - LIMIT):
        return Named(frozenset())
    limit, first, last = math.sqrt(good * bad), 0, units
    while last - first > 1:
        at = (first + last) // 2
        if statistics.median(box.measure(at).values) > limit:
            first = at
        else:
            last = at
    return Named(frozenset((last,)))
