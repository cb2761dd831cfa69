"""Is a loss that is established more than restarts which happened to fall into a slow mode.

A server of two modes shows a loss that is none when all of its runs today fall into the slow one. How often it does depends
on the share of that mode, and on nothing else: no spread tells, since runs in one mode agree. So runs are counted.

Against runs of its own configuration, stored or of this session, a share that explains one side speaks against the
other: the worst of all shares counts (bounds.by_modes). The ratio of an arm to its twin is held against a limit in the
same way, as what makes restarts fall into modes is the machine's, and both arms run on it.

A fixed limit has no other side. A server that is slow in SHARE of its restarts or less keeps it by the rule; one that
is slow more often than that misses it. What is stored of the arm counts as well: runs that keep the limit, and
sessions that agree among themselves. And where the loss is larger than two modes were ever seen to lie apart, FARTHEST, two
runs that show it are enough: what it is then is looked for sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .bounds import MODES, by_modes, runs_to_confirm
from .decision import Rule, Wants
from .judged import beyond_limit
from .levels import Floats

AGREE = 2  # server runs of an arm that must miss a limit, each by itself, however far beyond it they lie
SHARE = 1 / 3  # of restarts in the slow mode: above it, that mode is what the server is
# Of tok/s or a latency of a whole server, relative: 5 to 6 % between starts of one server on one GPU. An all-reduce alone
# was seen 72 % apart (TensorRT-LLM#17160), which is a tenth of a decode step or less.
FARTHEST = 0.10
MOST = 32  # further runs a side beyond which nobody measures


class Confirmation(NamedTuple):
    confirmed: bool
    modes: float | None  # the chance that two modes of restarts show this; None: not asked
    lacking: Wants  # further runs, where that is all that is missing


def against_stored(now: int, before: int) -> Confirmation:
    """`now`, `before`: server runs of today and of the baseline."""
    chance = by_modes(before, now)
    needed = runs_to_confirm(before)
    lacking = Wants(now=needed - now) if needed is not None else Wants(sessions=1)
    return Confirmation(chance <= MODES, chance, lacking if chance > MODES else Wants())


def against_twin(now: int, before: int, agreed: Sequence[int]) -> Confirmation:
    """`now`, `before`: server runs of both sides; `agreed`: other sessions that were of one mode, by their number of runs."""
    chance = by_modes(before, now, agreed)
    if chance <= MODES:
        return Confirmation(True, chance, Wants())
    return Confirmation(False, chance, _both_sides(now, before, agreed))


def against_ratio(now: int, beyond: int, before: int, agreed: Sequence[int], *, loss: float) -> Confirmation:
    """Of a ratio to the twin that is held against a limit: `beyond` of `now` runs miss it, each by itself.

    `before`: runs of the twin; `agreed`: as for `against_twin`; `loss`: relative, beyond the limit.
    """
    if loss >= FARTHEST:
        return of_agreeing(beyond)
    # A run that keeps the limit is of the mode that the twin's are in.
    return against_twin(beyond, before + now - beyond, agreed)


def against_fixed(
    now: Floats, limit: float, rule: Rule, stored: Sequence[Floats], *, loss: float
) -> Confirmation:
    """Of a fixed limit. `now`: values of runs on the scale; `stored`: the same, one array a session; `limit` on the scale."""
    beyond = beyond_limit(now, limit, rule)
    if loss >= FARTHEST or not rule.timed:
        return of_agreeing(beyond)
    kept = len(now) - beyond + sum(len(group) - beyond_limit(group, limit, rule) for group in stored)
    apart = abs(float(now.mean()) - limit)
    missing = [group for group in stored if beyond_limit(group, limit, rule) == len(group)]
    agreed = of_one_mode(missing, apart)

    def chance(more: int = 0) -> float:
        return by_modes(kept, beyond + more, agreed, most=SHARE)

    found = chance()
    enough = found <= MODES and beyond >= AGREE
    return Confirmation(enough, found, Wants() if enough else Wants(now=_fewest(chance, AGREE - beyond)))


def of_one_mode(sessions: Sequence[Floats], apart: float) -> tuple[int, ...]:
    """Return the sizes of those sessions whose runs lie closer together than half of what the sides are apart."""
    return tuple(len(group) for group in sessions if len(group) > 1 and np.ptp(group) < apart / 2)


def of_agreeing(beyond: int) -> Confirmation:
    """`beyond`: server runs that show the loss each by itself; two modes are not asked about."""
    return Confirmation(beyond >= AGREE, None, Wants(now=max(0, AGREE - beyond)))


def _fewest(chance: Callable[[int], float], at_least: int) -> int:
    return next(more for more in range(max(1, at_least), MOST) if chance(more) <= MODES)


def _both_sides(now: int, before: int, agreed: Sequence[int]) -> Wants:
    """Return the fewest further runs with which two modes cannot explain a loss, as many of this arm as may be."""
    for total in range(1, 2 * MOST):
        for more in range(total, -1, -1):
            if by_modes(before + total - more, now + more, agreed) <= MODES:
                return Wants(now=more, before=total - more)
    return Wants()
