"""Phases of two launches with instruments beside each other, where no timed launch of both says what they cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from tokgate.records import Record, RunEvidence
from tokgate.records.phases import Phase, PhaseSource
from tokgate.rig.models import Rig
from tokgate.stats.compare import compare
from tokgate.stats.log_shares import NAMES
from tokgate.stats.phases import PHASES
from tokgate.verdicts.cycle_side import WITHOUT, carried
from tokgate.verdicts.launch_phases import SOURCES, LaunchPhases, PhaseRead, launch_phases


class Moved(Record):
    """A time a call before and after, in milliseconds: the median over the starts of what each start told."""

    before_ms: float
    after_ms: float
    change: float = Field(description="relative: 0.2 is 20 % longer")
    interval: tuple[float, float] | None = Field(
        description="of `change`, 95 %, by starts of one server run a side; null: too few starts"
    )

    @property
    def shown(self) -> bool:
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


class PhaseMoved(Moved):
    """One phase by the starts' p50, or by the mean of the whole launch where no single call is told."""

    phase: str
    of: Literal["p50", "mean"]
    mean: Moved | None = Field(
        None,
        description="the same by the starts' means: where calls fall into two modes the p50 stays while their shares "
        "move; null: `of` is the mean already",
    )


class PhasesMoved(Record):
    """What the launches with instruments tell of one arm under one workload. It says nothing of tok/s."""

    arm: str
    workload: str
    source: PhaseSource
    clock: Literal["gpu", "wall", "host"]
    phases: tuple[PhaseMoved, ...]
    warnings: tuple[str, ...] = ()


_Of = tuple[Rig, RunEvidence]


def phases_moved(
    before: _Of, after: _Of, arm: str, workload: str, *, labels: tuple[str, str]
) -> PhasesMoved | str:
    """Compare by the best source that both have; a text says why that is not possible.

    One that tells single calls comes first, since its change has an interval; of two such a GPU's own clock.
    """
    sides: list[LaunchPhases] = []
    for (rig, run), label in zip((before, after), labels, strict=True):
        found = [launch_phases(rig, run.info.run_id, e, workload) for e in carried(run, arm)]
        told = next((one for one in found if isinstance(one, LaunchPhases)), None)
        if told is None:
            return f"{label}: {next((w for w in found if isinstance(w, str)), WITHOUT)}"
        sides.append(told)
    both = list(_by_source(*sides))
    if not both:
        return f"no source of phases is the same in {labels[0]} and {labels[1]}, by the same clock"
    mine, theirs = min(both, key=_without_interval)
    verify = mine[Phase.VERIFY]
    return PhasesMoved(
        arm=arm,
        workload=workload,
        source=verify.source,
        clock=verify.clock,
        phases=tuple(
            _moved(NAMES.get(p, p.value), mine[p], theirs[p]) for p in PHASES if p in mine and p in theirs
        ),
        warnings=(
            *(
                f"{label}: a doubt about its phases: {w}"
                for side, label in zip(sides, labels, strict=True)
                for w in side.warnings
            ),
            "one server run a side: the intervals do not hold what restarts differ by",
        ),
    )


_Reads = Mapping[Phase, PhaseRead]


def _by_source(before: LaunchPhases, after: LaunchPhases) -> Iterator[tuple[_Reads, _Reads]]:
    for source in SOURCES:
        mine, theirs = ({r.phase: r for r in side.readings if r.source == source} for side in (before, after))
        if Phase.VERIFY not in mine or Phase.VERIFY not in theirs:
            continue
        if mine[Phase.VERIFY].clock == theirs[Phase.VERIFY].clock:
            yield mine, theirs


def _without_interval(both: tuple[_Reads, _Reads]) -> tuple[bool, bool]:
    verifies = [read[Phase.VERIFY] for read in both]
    return not all(v.starts for v in verifies), verifies[0].clock != "gpu"


def _moved(name: str, before: PhaseRead, after: PhaseRead) -> PhaseMoved:
    if not before.starts or not after.starts:
        return PhaseMoved(
            phase=name,
            of="mean",
            before_ms=before.mean_ms,
            after_ms=after.mean_ms,
            change=after.mean_ms / before.mean_ms - 1,
            interval=None,
        )
    middle = _between([s.p50_ms for s in before.starts], [s.p50_ms for s in after.starts])
    return PhaseMoved(
        phase=name,
        of="p50",
        mean=_between([s.mean_ms for s in before.starts], [s.mean_ms for s in after.starts]),
        **middle.model_dump(),
    )


def _between(mine: Sequence[float], theirs: Sequence[float]) -> Moved:
    found = compare(theirs, mine)
    return Moved(
        before_ms=statistics.median(mine),
        after_ms=statistics.median(theirs),
        change=found.ratio - 1,
        interval=None if found.interval is None else (found.interval[0] - 1, found.interval[1] - 1),
    )
