"""Which of several changes costs what, when each server run measures all of the first K of them together.

Adaptive group testing (Dorfman 1943; by halves as in Hwang 1972), with noisy tests: a *prefix* K is the base with the first K
changes, and a *segment* (a, b] is what the changes a+1 to b cost together, prefix b against prefix a, both measured in
this session by server runs of their own. Base and head come first. A segment that costs is split in the middle, one that is shown to cost
nothing worth calling is cleared as a whole, until what costs is a single change.

Error rates. Whichever way the search goes, its segments are nodes of a binary tree with one leaf a change: 2n - 1 at most.
Each may spend that part of the session's chance of a false alarm, over all its looks (bounds.spent), so that the chance
that *any* change or group is called that costs nothing stays below the whole (union bound: no matter how the numbers chose
the path). A change is missed where any segment around it is cleared; there are as many of those as the tree is deep, and they
share the chance to miss.

Restarts are a level of variance of their own. All prefixes are one configuration on one machine, so what their runs differ by
is pooled about each prefix's own mean. A server of two modes shows a step that is none where all runs up to some prefix happen to fall
into the quick mode and all later ones into the slow one: a loss is called where that has a chance of MODES at most. All
runs between the nearest other steps count, which is why localising a loss confirms it at no further cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from tokgate.records import Outcome
from tokgate.records.record import Record

from .bounds import MODES, by_modes
from .confirm import AGREE, FARTHEST, of_agreeing, of_one_mode
from .decide import decide
from .decision import Decision, Rule
from .judged import beyond_limit
from .levels import Floats, RunValues
from .sides import groups_of

State = Literal["loss", "gain", "clear", "open"]


class Run(NamedTuple):
    """One server run of a prefix. `round`: the decision that asked for it, from 1."""

    round: int
    values: RunValues


# Prefix -> its server runs, in order of time; 0 is the base.
Measured = Mapping[int, Sequence[Run]]


class Segment(Record):
    """What the changes after prefix `first` up to `last` cost together."""

    first: int
    last: int
    decision: Decision  # of prefix `last` against `first`; its outcome is not yet confirmed
    state: State
    modes: float | None = (
        None  # chance that two modes of restarts show this step; None: no loss, or not asked
    )
    confirmed: bool = True  # of a loss: it is called
    split: int | None = None  # the prefix at which it was split; None: it was not

    @property
    def size(self) -> int:
        return self.last - self.first

    @property
    def called(self) -> bool:
        return self.state == "loss" and self.confirmed


class Search(Record):
    """Where a search stands."""

    nodes: tuple[
        Segment, ...
    ]  # every segment that was looked at, the whole change first, each before its parts
    parts: tuple[Segment, ...]  # those that were not split, in order: they make up the whole

    def within(self, node: Segment) -> tuple[Segment, ...]:
        """Return the parts that a segment was split into."""
        return tuple(p for p in self.parts if node.first <= p.first and p.last <= node.last)

    @property
    def spread(self) -> tuple[Segment, ...]:
        """Return the smallest segments that cost, though each of their parts was shown to cost nothing worth calling."""
        found = [
            n
            for n in self.nodes
            if n.split is not None and n.state == "loss" and all(p.state == "clear" for p in self.within(n))
        ]
        return tuple(
            n for n in found if not any(o is not n and n.first <= o.first and o.last <= n.last for o in found)
        )


def shared(rule: Rule, changes: int) -> Rule:
    """Return the rule of one segment among all that a search of so many changes may look at."""
    depth = math.ceil(math.log2(changes)) + 1 if changes > 1 else 1
    # A loss is called here when it is confirmed by all runs around the step, which `decide` does not see.
    return rule.model_copy(
        update={"level": rule.level / (2 * changes - 1), "miss": rule.miss / depth, "confirm": False}
    )


def middle(first: int, last: int, broken: frozenset[int] = frozenset()) -> int | None:
    """Return the prefix to split a segment at, as near to its middle as one can be measured; None: at none."""
    inside = [k for k in range(first + 1, last) if k not in broken]
    return min(inside, key=lambda k: (abs(2 * k - first - last), k), default=None)


def search(
    measured: Measured, rule: Rule, changes: int, *, broken: frozenset[int] = frozenset(), moved: float = 0.0
) -> Search:
    """Judge every segment that the measured prefixes make; base and head must be among them.

    `rule`: of the session, its error rates not yet shared. `broken`: prefixes that cannot be measured. `moved`: as for
    `decide`. ValueError where base or head has no run.
    """
    if not measured.get(0) or not measured.get(changes):
        raise ValueError("a search begins with base and head")
    mine = shared(rule, changes)
    nodes: list[Segment] = []

    def visit(first: int, last: int) -> None:
        at = middle(first, last, broken)
        split = at if at is not None and measured.get(at) else None
        decision = _decided(measured, mine, first, last, moved=moved)
        nodes.append(Segment(first=first, last=last, decision=decision, state=_state(decision), split=split))
        if split is not None:
            visit(first, split)
            visit(split, last)

    visit(0, changes)
    parts = sorted((n for n in nodes if n.split is None), key=lambda n: n.first)
    confirmed = {
        n.first: _confirmed(measured, rule, parts, number, modes=min(MODES, 2 * MODES / changes))
        for number, n in enumerate(parts)
        if n.state == "loss"
    }
    nodes = [confirmed.get(n.first, n) if n.split is None else n for n in nodes]
    return Search(nodes=tuple(nodes), parts=tuple(confirmed.get(p.first, p) for p in parts))


def look_of(measured: Measured, first: int, last: int) -> int:
    """Return how often these two prefixes have been compared: 1, and 1 more for each later round that added a run to either."""
    rounds = [run.round for k in (first, last) for run in measured[k]]
    both = max(min(run.round for run in measured[k]) for k in (first, last))
    return 1 + len({r for r in rounds if r > both})


def _decided(measured: Measured, rule: Rule, first: int, last: int, *, moved: float) -> Decision:
    others = [_values(measured, k) for k in sorted(measured) if k not in (first, last) and measured[k]]
    return decide(
        _values(measured, last),
        _values(measured, first),
        rule.model_copy(update={"look": look_of(measured, first, last)}),
        kind="twin",
        history=[run for runs in others for run in runs],
        moved=moved,
    )


def _values(measured: Measured, prefix: int) -> list[RunValues]:
    """Return a prefix's runs as a session of their own: what runs differ by is known about each prefix's mean."""
    return [run.values.model_copy(update={"session": f"prefix {prefix:04d}"}) for run in measured[prefix]]


def _state(decision: Decision) -> State:
    if decision.outcome is Outcome.REGRESSED:
        return "loss"
    if decision.outcome is Outcome.IMPROVED:
        return "gain"
    return "clear" if decision.outcome is Outcome.PASS else "open"


def _confirmed(
    measured: Measured, rule: Rule, parts: Sequence[Segment], number: int, *, modes: float
) -> Segment:
    part = parts[number]
    groups = {k: _on_scale(measured, k, rule) for k in measured if measured[k]}
    mean_before = float(groups[part.first].mean())
    beyond = beyond_limit(groups[part.last], mean_before, rule)
    if part.decision.loss >= FARTHEST:
        enough = of_agreeing(beyond)
        return part.model_copy(update={"confirmed": enough.confirmed and len(groups[part.first]) >= AGREE})
    before = _alike(parts, range(number - 1, -1, -1), part.first)
    now = _alike(parts, range(number + 1, len(parts)), part.last)
    apart = abs(float(groups[part.last].mean()) - mean_before)
    rest = [group for k, group in groups.items() if k not in before | now]
    chance = by_modes(
        sum(len(groups[k]) for k in before),
        sum(len(groups[k]) for k in now),
        of_one_mode(rest, apart),
    )
    enough_runs = beyond >= AGREE and len(groups[part.first]) >= AGREE
    return part.model_copy(update={"modes": chance, "confirmed": chance <= modes and enough_runs})


def _alike(parts: Sequence[Segment], order: Sequence[int] | range, end: int) -> set[int]:
    """Return the prefixes at one level with `end`: as far as the parts in that direction were cleared."""
    found = {end}
    for number in order:
        if parts[number].state != "clear":
            break
        found |= {parts[number].first, parts[number].last}
    return found


def _on_scale(measured: Measured, prefix: int, rule: Rule) -> Floats:
    return np.concatenate(groups_of(_values(measured, prefix), rule))
