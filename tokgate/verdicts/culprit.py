"""The parts of a change and what each costs, as a search found them: what the reports show, and what is concluded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from tokgate.records import LaunchEvidence
from tokgate.records.record import Record
from tokgate.records.side import SidesMade, Unit
from tokgate.rig.models import Rig
from tokgate.stats.group_testing import Search, Segment
from tokgate.stats.interaction import interaction
from tokgate.stats.next_prefixes import Done

from .culprit_step import TakeOut, culprits, further_s, left_of, looked, next_of, run_s
from .searched import CHECK, Searched, name_of, searched

# costs: called. may-cost: it looks like it, not established or not confirmed. clear: no loss worth calling, shown.
Finding = Literal["costs", "may-cost", "gains", "clear", "open"]


class CulpritPart(Record):
    """A unit of the change, or several that were cleared, or left, together.

    `cost` is relative to the server without it: 0.02 is 2 % slower; below 0 it gains.
    """

    first: int  # how many units came before it
    last: int  # and with it
    units: tuple[Unit, ...]  # those that a server imports; the others are in `inert`
    inert: tuple[Unit, ...] = ()
    finding: Finding
    cost: float
    interval: tuple[float, float]  # two-sided, 95 %
    at_most: float  # with the power that the rig asks for
    smallest: float  # the smallest cost that would have been called
    level: float  # one-sided chance of a false alarm that it was given
    modes: (
        float | None
    )  # chance that two modes of restarts look like it; None: no loss, or too large for that
    launches: tuple[str, ...]  # of both ends, the prefix with it first
    why: str | None = None  # of what is open: what would settle it


class TakenOut(Record):
    """What the server gets back when one unit is taken out of the whole change. All relative; a gain is positive."""

    unit: Unit
    back: float
    interval: tuple[float, float]  # two-sided, 95 %
    difference: float  # what it gives back beyond what it costs on top of the units before it
    difference_interval: tuple[float, float]
    finding: Literal["adds-up", "does-not", "open"]


class CulpritTable(Record):
    """What a search found, for one arm and workload."""

    arm: str
    workload: str
    metric: str
    unit: str
    base: float  # in the metric's unit
    head: float
    whole: CulpritPart
    parts: tuple[CulpritPart, ...]  # in order; they make up the whole
    spread: tuple[CulpritPart, ...] = ()  # cost as a whole, though none of their parts does by itself
    inert: tuple[Unit, ...] = ()  # change nothing that a server imports
    broken: dict[str, str] = {}  # sides that could not be measured -> why
    taken_out: tuple[TakenOut, ...] = ()  # of units that cost: whether costs add up
    not_taken_out: dict[str, str] = {}  # names of those that could not be -> why
    moved: float  # relative: what the base itself has moved by
    product: float  # relative: what the parts cost one on top of the other
    server_runs: int
    seconds: float  # of them all, from slate to slate
    every_prefix: int  # server runs that measuring every prefix as often as a loss needs would have taken
    budget_s: float
    left_s: float
    further_s: float  # about what it would still take; 0: nothing is open
    ended: str  # why it stopped, or what it would go on with
    complete: bool  # nothing is open

    def called(self) -> tuple[CulpritPart, ...]:
        """Return what costs, the dearest first."""
        return tuple(sorted((p for p in self.parts if p.finding == "costs"), key=lambda p: -p.cost))

    def of(self, finding: Finding) -> tuple[CulpritPart, ...]:
        return tuple(p for p in self.parts if p.finding == finding)


def culprit_table(
    rig: Rig, launches: Sequence[LaunchEvidence], made: SidesMade | None
) -> CulpritTable | None:
    """Return what the launches of a search show; None where there are none, or nothing can be concluded from them."""
    mine = [one for one in launches if one.launch.role == CHECK]
    if not mine:
        return None
    found = searched(rig, mine, made)
    now = looked(found)
    return table_of(rig, found, now) if now is not None else None


def table_of(rig: Rig, found: Searched, now: Search) -> CulpritTable:
    step = next_of(rig, found)
    why = step.why if isinstance(step, Done) else {}
    parts = tuple(_part(found, one, now, why) for one in now.parts)
    whole = _part(found, now.nodes[0], now, why)
    per_run = run_s(found.launches)
    return CulpritTable(
        arm=found.question.arm,
        workload=found.question.workload,
        metric=found.question.metric.name,
        unit=found.question.metric.unit,
        base=now.nodes[0].decision.before,
        head=now.nodes[0].decision.now,
        whole=whole,
        parts=parts,
        spread=tuple(_part(found, one, now, why) for one in now.spread),
        inert=tuple(unit for unit in found.units if found.is_inert(unit)),
        broken={name_of(found, place): words for place, words in sorted(found.broken.items())},
        taken_out=_taken_out(found, now),
        not_taken_out={found.units[number - 1].name: words for number, words in found.not_taken_out.items()},
        moved=found.moved,
        product=1 - math.prod(1 - part.cost for part in parts)
        if found.question.metric.better == "higher"
        else math.prod(1 + part.cost for part in parts) - 1,
        server_runs=len(found.launches),
        seconds=math.fsum(one.wall_s or per_run for one in found.launches),
        every_prefix=2 * (found.changes + 1),
        budget_s=rig.sampling.gpu_time_s,
        left_s=left_of(rig, found.launches),
        further_s=further_s(now, found.launches),
        ended=step.reason if isinstance(step, Done) else f"it would go on: {step.reason}",
        complete=isinstance(step, TakeOut) or (isinstance(step, Done) and not step.open),
    )


def _taken_out(found: Searched, now: Search) -> tuple[TakenOut, ...]:
    values = {place: [run.values for run in runs] for place, runs in found.measured.items()}
    told = []
    for part, number in culprits(found, now):
        without = [run.values for run in found.taken_out.get(number, ())]
        if not without:
            continue
        used = {part.first, part.last, found.changes}
        one = interaction(
            values[part.first],
            values[part.last],
            without,
            values[found.changes],
            others=[runs for place, runs in values.items() if place not in used],
            rule=found.question.rule,
            among=found.changes,
        )
        told.append(
            TakenOut(
                unit=found.units[number - 1],
                back=one.back,
                interval=one.back_interval,
                difference=one.difference,
                difference_interval=one.interval,
                finding=one.finding,
            )
        )
    return tuple(told)


def _part(found: Searched, one: Segment, now: Search, why: dict[str, str]) -> CulpritPart:
    first, last = found.places[one.first], found.places[one.last]
    units = found.units[first:last]
    decision = one.decision
    cost = found.question.metric.loss
    ends = sorted(cost(end) for end in decision.interval)
    return CulpritPart(
        first=first,
        last=last,
        units=tuple(unit for unit in units if not found.is_inert(unit)),
        inert=tuple(unit for unit in units if found.is_inert(unit)),
        finding=_finding(one, whole=one is now.nodes[0]),
        cost=cost(decision.change),
        interval=(ends[0], ends[1]),
        at_most=decision.high,
        smallest=decision.smallest,
        level=decision.level * 2**decision.look,
        modes=one.modes,
        launches=tuple(run.values.launch for place in (one.last, one.first) for run in found.measured[place]),
        why=why.get(f"{one.first}-{one.last}"),
    )


def _finding(one: Segment, *, whole: bool) -> Finding:
    if one.state == "loss":
        # A whole that was split is shown by what was found in it.
        return "costs" if one.confirmed or (whole and one.split is not None) else "may-cost"
    if one.state == "gain":
        return "gains"
    if one.state == "clear":
        return "clear"
    return "may-cost" if one.decision.loss > one.decision.floor else "open"
