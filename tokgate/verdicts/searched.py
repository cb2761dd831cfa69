"""What a session has measured of a search for the part of a change that costs: its prefixes and their server runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence, Verdict
from tokgate.records.side import BASE, HEAD, UPTO, WITHOUT, SidesMade, Unit, upto
from tokgate.rig.models import Rig
from tokgate.rig.sides import SearchSpec
from tokgate.stats.decision import Rule
from tokgate.stats.group_testing import Run
from tokgate.stats.levels import RunValues

from .copied import copied
from .establish import Established, establish_workload, invalid
from .metrics import Metric, floor_of, throughput_metric
from .run_values import NOW
from .shortfall import Shortfall

CHECK = "culprit"
# Of a checkout and of an installed package: what lies elsewhere no server imports. As hosts/scripts/parts/side_rules.py,
# which refuses a change that has nothing else.
_IMPORTED = ("python/sglang/", "sglang/")
_NOT_IMPORTED = ("python/sglang/test/", "sglang/test/")
_WORDS = (".md", ".rst", ".txt", ".ipynb")


class Question(NamedTuple):
    """What is searched for: the cost of the parts of a change, to this arm in this workload."""

    arm: str
    workload: str
    metric: Metric
    rule: Rule  # of the whole search: its segments share the error rates (stats/group_testing.py)
    inside: bool


class Searched(NamedTuple):
    """`places`: how many units of the change each prefix of the search has, from none to all; inert ones are no step of it."""

    question: Question
    units: tuple[Unit, ...]
    places: tuple[int, ...]
    measured: dict[int, list[Run]]  # place -> server runs
    established: dict[int, list[Established]]
    broken: dict[int, str]  # place -> why it cannot be measured
    taken_out: dict[int, list[Run]]  # number of a unit -> server runs of the whole change without it
    not_taken_out: dict[int, str]  # and why it cannot be taken out
    launches: tuple[LaunchEvidence, ...]  # all of the search, in order of time
    moved: float  # relative: what the base has moved by between its first and its last run
    refused: Verdict | None = None  # why nothing can be concluded
    imported: tuple[str, ...] = ()  # places of the tree that servers import from, as SidesMade has them

    def is_inert(self, unit: Unit) -> bool:
        return is_inert(unit, self.imported)

    @property
    def changes(self) -> int:
        return len(self.places) - 1

    @property
    def begun(self) -> bool:
        """Whether base and head have been measured, without which there is nothing to search."""
        return bool(self.measured.get(0)) and bool(self.measured.get(self.changes))

    @property
    def since_base(self) -> int:
        """How many server runs came behind the last one of the base."""
        at = [number for number, one in enumerate(self.launches, start=1) if one.launch.side == BASE]
        return len(self.launches) - max(at, default=0)


def question_of(rig: Rig) -> Question:
    """Return what a rig's search asks. KeyError or StopIteration never: the options were checked before anything started."""
    spec = (rig.sides.search if rig.sides is not None else None) or SearchSpec()
    arms = [a.name for a in rig.arms if a.kind == "eagle3"] or [rig.control.name]
    workload = rig.workload(spec.workload or rig.workloads[0].name)
    metric = throughput_metric(workload.concurrency)
    sampling, floor = rig.sampling, floor_of(rig, metric)
    return Question(
        arm=spec.arm or arms[0],
        workload=workload.name,
        metric=metric,
        rule=Rule(
            higher_is_better=metric.better == "higher",
            ratio=metric.scale == "ratio",
            relative=floor.relative,
            absolute=floor.absolute,
            level=sampling.false_alarm,
            miss=1 - sampling.power,
        ),
        inside=spec.inside,
    )


def searched(rig: Rig, launches: Sequence[LaunchEvidence], made: SidesMade | None) -> Searched:
    """Read what was measured; a pure function of the evidence. `launches`: of role culprit, in order of time."""
    question = question_of(rig)
    units = made.units if made is not None else ()
    imported = made.imported if made is not None else ()
    places = places_of(units, imported)
    measured: dict[int, list[Run]] = {}
    established: dict[int, list[Established]] = {}
    broken: dict[int, str] = {}
    taken_out: dict[int, list[Run]] = {}
    not_taken_out: dict[int, str] = {}
    refused: Verdict | None = None
    for one in launches:
        place, lacks = _place(one.launch.side, units, places), _lacks(one.launch.side, units)
        why = why_broken(one, made)
        if lacks is not None and why is not None:
            not_taken_out[lacks] = why
            continue
        if (place is None and lacks is None) or (
            why is not None and place is not None and 0 < place < len(places) - 1
        ):
            if place is not None and why is not None:
                broken[place] = why
            continue
        found = establish_workload(rig, one, question.workload, check=CHECK)
        if isinstance(found, Established) and question.metric.name not in found.series:
            why_not = found.why_missing(question.metric.name)
            shortfall = Shortfall(
                what=f"{question.metric.name} is unknown: {why_not}", do="see the raw bodies of that launch"
            )
            found = invalid(CHECK, [shortfall], launch=one, workload=question.workload, raw=found.raw)
        if isinstance(found, Verdict):
            refused = refused or found
            continue
        values = RunValues(
            session=NOW, launch=one.launch.id, values=found.series[question.metric.name].values
        )
        if lacks is not None:
            taken_out.setdefault(lacks, []).append(Run(one.launch.round, values))
        elif place is not None:
            measured.setdefault(place, []).append(Run(one.launch.round, values))
            established.setdefault(place, []).append(found)
    if refused is None and (twice := list(copied(launches))):
        refused = invalid(CHECK, twice, workload=question.workload)
    return Searched(
        question=question,
        units=units,
        places=places,
        measured=measured,
        established=established,
        broken=broken,
        taken_out=taken_out,
        not_taken_out=not_taken_out,
        launches=tuple(launches),
        moved=_moved(measured.get(0, ())),
        refused=refused,
        imported=imported,
    )


def is_inert(unit: Unit, imported: tuple[str, ...] = ()) -> bool:
    """Say whether a unit changes nothing that a server imports: then it is no step of the search.

    `imported`: as SidesMade has it; of one that was made by an older tokgate, ().
    """
    return bool(unit.files) and not any(
        file.startswith(imported or _IMPORTED)
        and not file.startswith(_NOT_IMPORTED)
        and not file.endswith(_WORDS)
        for file in unit.files
    )


def places_of(units: Sequence[Unit], imported: tuple[str, ...] = ()) -> tuple[int, ...]:
    """Return how many units each prefix of a search has: none, then up to each unit that a server may import, the last with all."""
    live = [number for number, unit in enumerate(units, start=1) if not is_inert(unit, imported)]
    return (0, *live[:-1], len(units)) if live else (0, len(units))


def why_broken(launch: LaunchEvidence, made: SidesMade | None) -> str | None:
    """Return why a side cannot be measured for what it is: it does not start, or could not be made."""
    if launch.failure is not None:
        return f"does not start: {launch.failure.headline}"
    side = launch.launch.side
    if launch.server is None and launch.faults and made is not None and side and made.side(side) is None:
        return f"cannot be made: {launch.faults[0]}"
    return None


def name_of(found: Searched, place: int) -> str:
    """Return the side of a place."""
    return upto(found.places[place], len(found.units))


def _place(side: str | None, units: Sequence[Unit], places: Sequence[int]) -> int | None:
    if side == BASE:
        return 0
    if side == HEAD:
        return len(places) - 1
    count = str(side).removeprefix(UPTO)
    if not count.isdecimal() or int(count) >= len(units) or int(count) not in places:
        return None  # another tokgate's, or an edited folder
    return places.index(int(count))


def _lacks(side: str | None, units: Sequence[Unit]) -> int | None:
    """Return the number of the unit that a side has not, of one that has all others."""
    if side is None or not side.startswith(WITHOUT):
        return None
    number = side.removeprefix(WITHOUT)
    return int(number) if number.isdecimal() and 0 < int(number) <= len(units) else None


def _moved(base: Sequence[Run]) -> float:
    if len(base) < 2:
        return 0.0
    first, last = (statistics.median(run.values.values) for run in (base[0], base[-1]))
    return abs(math.expm1(math.log(last / first)))
