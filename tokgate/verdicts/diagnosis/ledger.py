"""Charges every loss to the causes whose marks are there. Nothing is charged twice; what is left has a name of its own.

In this order, at each arm and workload:

1. what was measured itself takes at most its own size: cards that were held back, a trend, server runs that lie apart, a
   rank that the others wait for, and on the plain arm the host, by the ms that a speculative cycle shows beside its phases;
2. what is left of the plain arm's loss goes to what has changed of its passes: the NCCL block, the tree, the machine since
   the baseline was stored. Several of them cannot be told apart: each gets an equal part, marked as at most. With none of
   them it is the base engine;
3. the same goes over to verify, which is a pass of the same model: tree and NCCL by as many milliseconds (host work, links),
   all else by the same factor (kernels);
4. what is left of verify is a verify without graphs where it runs outside of them, otherwise verify itself; what is left of
   draft, rest and acceptance is theirs. Of a speculating arm whose loss nobody could split, what is left has no name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokgate.stats.log_shares import ACCEPTANCE, REST
from tokgate.stats.log_shares import CYCLE as WHOLE_CYCLE

from . import names
from .case import Case
from .cause import Explained, share_of
from .charges import SMALLEST, Account, Books, folded, sorted_by_share
from .losses import DRAFT, EXTEND, PASS, VERIFY, Loss, Part, Place
from .marks import Marks

# Launching kernels one by one also costs the host a little beside verify: up to this part of what verify has grown by.
LAUNCHING = 0.1
_OWN_NAME = {
    VERIFY: names.VERIFY, WHOLE_CYCLE: names.CYCLE, DRAFT: names.DRAFT, EXTEND: names.DRAFT, REST: names.HOST,
}  # fmt: skip
# How well sizes are known that do not come from the loss itself, as a part of them. A rest smaller than that is no
# further cause. A clock bounds what kernels lose and not what links do; a line is drawn through a handful of starts; an
# all-reduce of more tokens takes longer than a plain step's.
WITHIN_CLOCKS, WITHIN_TREND, WITHIN_LINKS = 0.35, 0.25, 0.25
WITHIN_STARTS, WITHIN_PASSES, WITHIN_MS = 0.15, 0.15, 0.05
_BY_MS = (names.TREE, names.NCCL)
_SMALL_REST = "and a rest within what it is known by"
_HOST = "as many ms a step as a speculative cycle has grown beside its phases"


@dataclass(frozen=True)
class _Carried:
    """A part of the plain arm's loss that goes over to verify: as a factor, or as milliseconds a pass."""

    name: str
    log: float
    ms: float | None
    at_most: bool


@dataclass(frozen=True)
class _Direct:
    """What has a size of its own. `log` of the slowdown; `at_most`: a bound; `within`: a part of itself."""

    name: str
    log: float
    at_most: bool
    within: float
    by: str
    ms: float = 0.0  # of verify on top: what the others wait there until a slow rank has drafted


@dataclass(frozen=True)
class _Host:
    """What the scheduler takes longer between steps. `sure`: without graphs a part of it is their launching."""

    ms: float = 0.0
    sure: bool = True


def ledger(case: Case, marks: Marks) -> Mapping[str, tuple[Explained, ...]]:
    """Return what each cause takes of which loss, the largest share first; causes below SMALLEST are left out."""
    found: dict[str, list[Explained]] = {}
    for workload in (w.name for w in case.rig.workloads):
        cycles = [loss for arm in case.speculating if (loss := case.losses.get((arm, workload))) is not None]
        host = max((_host(marks, loss) for loss in cycles), key=lambda h: h.ms, default=_Host())
        plain = case.losses.get((case.control, workload))
        carried: tuple[_Carried, ...] = ()
        if plain is not None:
            books = Books()
            carried = tuple(_plain(marks, plain, books, host))
            folded(books.told(plain), found)
        for loss in cycles:
            books = Books()
            mine = carried if plain is not None and plain.beside == loss.beside else ()
            _speculating(marks, loss, mine, books)
            folded(books.told(loss), found)
    return sorted_by_share(found)


def _plain(marks: Marks, loss: Loss, books: Books, host: _Host) -> Iterator[_Carried]:
    part = loss.part(PASS)
    if part is None or not part.lost or share_of(part.log) < SMALLEST:
        return
    account = Account(part, books)
    # What the machine did it did to both sides of a change.
    for one in () if loss.beside else _direct((loss.arm, loss.workload), marks, rank=True):
        account.take(one.name, one.log, by=one.by, at_most=one.at_most, within=one.within)
    if host.sure:
        account.take(names.HOST, account.of_ms(host.ms), by=_HOST, within=WITHIN_MS)
    account.absorb(_SMALL_REST)
    left = account.left
    if share_of(-left) < SMALLEST:
        return
    candidates = [] if loss.beside else [*_candidates(marks)]
    if host.ms > 0 and not host.sure:
        candidates.append(names.HOST)
    several = len(candidates) > 1
    by = "what is left of the plain arm's loss"
    if several:
        by += f", shared by {' and '.join(candidates)}, which cannot be told apart"
    each = left / max(1, len(candidates))
    ms = account.ms * each / -part.log
    if not several:
        account.close(candidates[0] if candidates else names.BASE, by=by)
    for name in candidates or [names.BASE]:
        if several:
            account.take(name, each, by=by, at_most=True)
        if name != names.HOST:
            yield _Carried(name, each, ms if name in _BY_MS else None, several)


def _candidates(marks: Marks) -> Iterator[str]:
    if marks.nccl:
        yield names.NCCL
    if marks.environment:
        yield names.ENVIRONMENT
    if marks.origin.tree:
        yield names.TREE
    elif marks.origin.machine:
        yield names.STALE


def _direct(place: Place, marks: Marks, *, rank: bool) -> Iterator[_Direct]:
    if (held := marks.held.get(place)) is not None:
        within = WITHIN_CLOCKS if held.at_most else WITHIN_STARTS
        yield _Direct(names.HEAT, held.log, held.at_most, within, f"measured by {held.by}")
    if (trend := marks.trends.get(place)) is not None:
        by = "the line through the starts, back to the start of the server"
        yield _Direct(names.DRIFT, trend.log, False, WITHIN_TREND, by)
    if (levels := marks.levels.get(place[1])) is not None:
        by = "the distance between server runs of one arm"
        yield _Direct(names.MODES, levels.log, True, WITHIN_STARTS, by)
    if rank and (bound := _waited(marks)) is not None:
        slow = marks.slow_rank[0] if marks.slow_rank is not None else None
        ms = max(0.0, math.fsum(slow.own_ms) - math.fsum(slow.others_ms)) if slow is not None else 0.0
        yield _Direct(names.SLOW_RANK, bound[0], True, WITHIN_STARTS, bound[1], ms)


def _waited(marks: Marks) -> tuple[float, str] | None:
    """Return what a rank that the others wait for costs at most, and how that is known."""
    if marks.slow_rank is not None:
        slow = marks.slow_rank[0]
        own, others = math.fsum(slow.own_ms), math.fsum(slow.others_ms)
        bound = math.log(own / others) if others > 0 and own > others else 0.0
        return bound, "how much longer that rank takes than the others for what it does by itself"
    if marks.slow_card is not None:
        return marks.slow_card.log, "how much slower the clock of that card is"
    return None


def _speculating(marks: Marks, loss: Loss, carried: Sequence[_Carried], books: Books) -> None:
    place = (loss.arm, loss.workload)
    graphs = marks.graphs.get(place)
    outside = graphs is not None and graphs.without is True
    timed = {p.name: p.before or p.after or 0.0 for p in loss.parts if p.name != ACCEPTANCE}
    cycle = math.fsum(timed.values())
    for part in loss.parts:
        if not part.lost:
            continue
        if part.name == ACCEPTANCE:
            Account(part, books).close(names.ACCEPTANCE, by="accept lengths then and now")
            continue
        account = Account(part, books)
        passes = part.name in (VERIFY, WHOLE_CYCLE, PASS)
        weight = timed[part.name] / cycle if cycle > 0 else 1.0
        for one in () if loss.beside else _direct(place, marks, rank=passes):
            size = account.of_factor(one.log, weight) + account.of_ms(one.ms)
            account.take(one.name, size, by=one.by, at_most=one.at_most, within=one.within)
        for more in carried if passes else ():
            size = account.of_factor(more.log, weight) if more.ms is None else account.of_ms(more.ms)
            size = size if account.ms > 0 else more.log * weight
            within = WITHIN_LINKS if more.name == names.NCCL else WITHIN_PASSES
            by = "as much as the plain arm's passes lost"
            account.take(more.name, size, by=by, at_most=more.at_most, within=within)
        if not outside:
            account.absorb(_SMALL_REST)
        if part.name == PASS:
            continue  # no server told of accept lengths: of acceptance or the cycle, nobody can say
        launching = outside and (passes or (part.name == REST and _little(part, loss)))
        account.close(
            names.NO_GRAPH if launching else _OWN_NAME[part.name], by=f"what is left of {part.name}"
        )


def _little(part: Part, loss: Loss) -> bool:
    """Whether the rest of the cycle has grown by no more than launching kernels one by one costs beside verify."""
    verify = loss.part(VERIFY)
    if verify is None or part.before is None or verify.before is None:
        return True
    return _grown(part) <= LAUNCHING * _grown(verify)


def _host(marks: Marks, loss: Loss) -> _Host:
    """Return what the scheduler takes longer between steps, as a speculative cycle shows it beside its phases."""
    part, place = loss.part(REST), (loss.arm, loss.workload)
    if part is None or part.before is None or not part.lost:
        return _Host()
    graphs = marks.graphs.get(place)
    outside = graphs is not None and graphs.without is True
    if outside and _little(part, loss):
        return _Host()
    slower = 0.0 if loss.beside else math.fsum(one.log for one in _direct(place, marks, rank=False))
    return _Host(max(0.0, _grown(part) - part.before * math.expm1(slower)), sure=not outside)


def _grown(part: Part) -> float:
    return (part.after or 0.0) - (part.before or 0.0)
