"""What a search measures next in this session, from what lies in its folder: a stored run is told the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.group_testing import Search, Segment, search
from tokgate.stats.next_prefixes import Done, Round, next_round, opening

from .searched import Searched

_AGAIN = 2  # server runs of the change without a unit
_CONFIRMING = 4  # server runs: of both ends of a step, and the base


class TakeOut(Record):
    """Measure the whole change without each of these units, the base behind them. `units`: numbers, in order of time."""

    units: tuple[int, ...]
    reason: str


def looked(found: Searched) -> Search | None:
    """Return where the search stands; None where base or head has no number."""
    if not found.begun or found.refused is not None:
        return None
    return search(
        found.measured,
        found.question.rule,
        found.changes,
        broken=frozenset(found.broken),
        moved=found.moved,
    )


def next_of(rig: Rig, found: Searched) -> Round | TakeOut | Done:
    """Decide what is measured next; a pure function."""
    if found.refused is not None:
        return Done(reason=f"nothing can be concluded: {found.refused.headline}")
    if not found.launches:
        return opening(found.changes)
    now = looked(found)
    if now is None:
        return Done(reason="base or head could not be measured")
    step = next_round(
        now,
        found.measured,
        affordable=affordable(rig, found.launches),
        most=1 + rig.sampling.most_restarts,
        since_base=found.since_base,
        broken=frozenset(found.broken),
        inside=found.question.inside,
        words=lambda first, last: segment_words(found, first, last),
    )
    return _taking_out(rig, found, now) or step if isinstance(step, Done) else step


def culprits(found: Searched, now: Search) -> tuple[tuple[Segment, int], ...]:
    """Return each single unit that is called, with its number, but for the last of the change: without that it is a prefix."""
    numbered = [(part, _only_live(found, part)) for part in now.parts if part.called]
    return tuple(
        (part, number) for part, number in numbered if number is not None and part.last < found.changes
    )


def _taking_out(rig: Rig, found: Searched, now: Search) -> TakeOut | None:
    """Ask for the counter-check of what is called, where the budget takes it: costs of prefixes add up whatever happens."""
    left = affordable(rig, found.launches)
    wanted: list[int] = []
    for _, number in culprits(found, now):
        fresh = number not in found.taken_out and number not in found.not_taken_out
        if fresh and _AGAIN * (len(wanted) + 1) + 1 <= left:
            wanted.append(number)
    if not wanted:
        return None
    named = ", ".join(found.units[number - 1].name for number in wanted)
    return TakeOut(
        units=(*wanted, *reversed(wanted)),
        reason=f"does the server get back what {named} cost{'s' if len(wanted) == 1 else ''}, taken out of the whole?",
    )


def _only_live(found: Searched, part: Segment) -> int | None:
    numbers = range(found.places[part.first] + 1, found.places[part.last] + 1)
    live = [number for number in numbers if not found.is_inert(found.units[number - 1])]
    return live[0] if len(live) == 1 else None


def segment_words(found: Searched, first: int, last: int) -> str:
    """Return what a segment of the search is called: by its unit where that is one, else by their numbers."""
    units = [
        unit for unit in found.units[found.places[first] : found.places[last]] if not found.is_inert(unit)
    ]
    if len(units) == 1:
        return units[0].name
    if last - first == found.changes:
        return "the change as a whole"
    return f"units {found.places[first] + 1} to {found.places[last]}"


def further_s(now: Search, launches: Sequence[LaunchEvidence]) -> float:
    """Return about how many seconds the parts that are open still take: splits down to single units, and their confirmation."""
    runs = sum(
        2 * math.ceil(math.log2(part.size)) + _CONFIRMING if part.size > 1 else _CONFIRMING
        for part in now.parts
        if part.state == "open" or (part.state == "loss" and not (part.confirmed and part.size == 1))
    )
    return runs * run_s(launches)


def affordable(rig: Rig, launches: Sequence[LaunchEvidence]) -> int:
    """Return how many server runs more sampling.gpu_time_s takes, each as long as those made; what the search began with is the plan."""
    cost = run_s(launches)
    return math.floor(left_of(rig, launches) / cost) if cost else 0


def run_s(launches: Sequence[LaunchEvidence]) -> float:
    """Return the seconds that one server run takes, of those made; 0 where nobody knows."""
    known = [one.wall_s for one in launches if one.wall_s is not None and one.server is not None]
    return statistics.median(known) if known else 0.0


def left_of(rig: Rig, launches: Sequence[LaunchEvidence]) -> float:
    """Return the seconds of the budget that are left behind the opening."""
    spent = math.fsum(one.wall_s or 0.0 for one in launches if one.launch.round > 1)
    return max(0.0, rig.sampling.gpu_time_s - spent)
