"""What the checks on phases share: which reading speaks for a phase, and what to say where none does."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase, PhaseReading, PhaseTable
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.stats.ranks import ALONE, slow_rank

from .budgets import budgets_on
from .establish import Established, establish_workload, invalid
from .shortfall import Shortfall

DO = (
    "make the instruments work (docs/phases.md says what each needs), or take the budget out and set "
    "instruments.skip in the rig, with the reason"
)
_NEVER = "the cycle never stands in for a phase"


def establish_phases(rig: Rig, launch: LaunchEvidence, workload: str, *, check: str) -> Established | Verdict:
    """Establish a workload of a launch with instruments: it takes as many repeats as [instruments] allow."""
    return establish_workload(instrumented(rig), launch, workload, check=check)


def slowest(readings: Iterable[PhaseReading]) -> PhaseReading | None:
    """Return the reading of the rank that takes longest: the others wait for it. None where none has starts."""
    mine = [r for r in readings if r.starts]
    return max(mine, key=lambda r: statistics.median(s.p50_ms for s in r.starts), default=None)


def probe_of(launch: LaunchEvidence, phase: Phase, workload: str) -> tuple[PhaseReading, ...]:
    """Return what the probe tells of a phase, one reading a rank."""
    return launch.phases.find(phase, "probe", workload=workload) if launch.phases is not None else ()


def limited(rig: Rig, launch: LaunchEvidence, workload: str, metrics: Sequence[str]) -> bool:
    """Say whether the rig sets a limit on one of these for this arm and workload."""
    return bool(budgets_on(rig, launch, workload, metrics))


def not_told(rig: Rig, established: Established, metrics: Sequence[str], *, check: str, why: str) -> Verdict:
    """Return `invalid` where the rig sets a limit, `inconclusive` where it only would have liked to know."""
    launch, workload = established.launch, established.workload
    shortfall = Shortfall(what=why, do=DO, evidence=(*_others(launch.phases, workload), _NEVER))
    verdict = invalid(
        check, [shortfall], launch=launch, workload=workload, metric=metrics[0], raw=established.raw
    )
    if limited(rig, launch, workload, metrics):
        return verdict
    return verdict.model_copy(update={"outcome": Outcome.INCONCLUSIVE})


def why_no_verify(launch: LaunchEvidence) -> str:
    """Return why no single verify call is known, by each source that could tell."""
    if launch.phases is None:
        return "no source told of the verify phase: nobody looked"
    whys = [f"{source}: {why}" for source, why in launch.phases.unknown.items()]
    return f"no source told of single verify calls: {'; '.join(whys) or 'none was carried'}"


def doubts(launch: LaunchEvidence, workload: str) -> tuple[str, ...]:
    """Return what the sources do not agree on, under this workload, and what the probe could not tell of."""
    if launch.phases is None:
        return ()
    apart = (a.words for a in launch.phases.agreements if a.workload == workload and not a.agrees)
    silent = launch.phases.unknown.get("probe") if probe_of(launch, Phase.VERIFY, workload) else None
    return (*apart, *([f"the probe does not tell all: {silent}"] if silent else []))


def named_rank(launch: LaunchEvidence, workload: str) -> tuple[str, ...]:
    """Return which rank the others wait for, where the probe shows one."""
    found = slow_rank([r for phase in ALONE for r in probe_of(launch, phase, workload)])
    return (found.words,) if found is not None else ()


def _others(table: PhaseTable | None, workload: str) -> Iterable[str]:
    """Yield what other sources tell of verify; means only, so no p50 and no p95."""
    if table is None:
        return
    for reading in table.readings:
        if reading.phase is Phase.VERIFY and reading.workload == workload and reading.source != "probe":
            yield f"{reading.source}: verify {reading.mean_ms:.3f} ms a call, a mean of {reading.n} calls"
