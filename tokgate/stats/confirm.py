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

from tokgate.records import Outcome

from .bounds import MODES, Bounds, by_modes, runs_to_confirm
from .decision import Kind, Rule, Wants
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
    lacking: Wants  # further runs, where that is all that is missing: after them is looked again
    in_all: Wants | None = None  # and with those that may be missing after that look; None: no more


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


def against_side(beyond: tuple[int, int], agreed: Sequence[int], *, timed: bool) -> Confirmation:
    """Of a change's head against its base, which are one server but for the change.

    `beyond`: runs of the head that are worse than the base, and of the base that are better than the head, each by itself;
    at least AGREE of each are needed. `agreed`: as for `against_twin`; `timed`: whether it is a number that restarts may
    move. However large the loss, two modes are asked about: both sides may fall into either, whatever they lie apart. `in_all`
    counts those that agree, and then those that exclude two modes where nothing else comes to tell that restarts agree.
    """
    few = Wants(now=max(0, AGREE - beyond[0]), before=max(0, AGREE - beyond[1]))
    if not timed:
        return Confirmation(few == Wants(), None, few)
    # A head as good as the base, or a base as slow as the head, is of the other side's mode.
    found = against_twin(beyond[0] + few.now, beyond[1] + few.before, agreed)
    if few == Wants():
        return found
    more = found.lacking
    return Confirmation(False, None, few, Wants(now=few.now + more.now, before=few.before + more.before))


def once_better(
    outcome: Outcome, found: Bounds, rule: Rule, kind: Kind, *, floor: float, runs: tuple[int, int]
) -> Wants | None:
    """Return what a head that looks better than its base by more than the floor wants before it passes; None: nothing.

    `runs`: of head and base. One run of each, of which the base's met a busy machine, looks the same: on two cores that others
    used a change that costs 10 % stood 123 % above its base.
    """
    lacking = Wants(now=max(0, AGREE - runs[0]), before=max(0, AGREE - runs[1]))
    better = outcome in (Outcome.PASS, Outcome.IMPROVED) and float(found.loss) < -floor
    return lacking if kind == "side" and rule.confirm and better and lacking != Wants() else None


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


def all_of_one_mode(sessions: Sequence[Floats], apart: float) -> tuple[int, ...]:
    """Return the same where none speaks for two modes; () where a session's own runs lie as far apart: those that agree are then luck."""
    several = sum(len(group) > 1 for group in sessions)
    agreed = of_one_mode(sessions, apart)
    return agreed if len(agreed) == several else ()


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
