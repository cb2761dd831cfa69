"""What the checks on phases share: which reading speaks for a phase, and what to say where none does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase, PhaseReading, PhaseTable
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.stats.ranks import ALONE, SlowRank, slow_by_kernels, slow_rank, slowest

from .budgets import budgets_on
from .establish import Established, establish_workload, invalid
from .shortfall import Shortfall
from .verify_calls import verify_calls

DO = (
    "make the instruments work (docs/phases.md says what each needs), or take the budget out and set "
    "instruments.skip in the rig, with the reason"
)
_NEVER = "the cycle never stands in for a phase"


def establish_phases(rig: Rig, launch: LaunchEvidence, workload: str, *, check: str) -> Established | Verdict:
    """Establish a workload of a launch with instruments: it takes as many repeats as [instruments] allow."""
    return establish_workload(instrumented(rig), launch, workload, check=check)


def slowest_verify(launch: LaunchEvidence, workload: str) -> PhaseReading | None:
    """Return what the probe tells of the rank whose verify takes longest. None where none tells of single starts."""
    return slowest(r for r in probe_of(launch, Phase.VERIFY, workload) if r.starts)


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


def why_no_pair(launch: LaunchEvidence, workload: str) -> str:
    """Return why no two sources can be compared."""
    if launch.phases is None or not (told := probe_of(launch, Phase.VERIFY, workload)):
        return why_no_verify(launch)
    whys = [f"{source}: {why}" for source, why in launch.phases.unknown.items() if source != "probe"]
    if not launch.phases.find(Phase.STEP, "cycle", workload=workload):
        whys.append("cycle: the server counts no verify call in its answers (verify_ct)")
    calls = f"the probe tells of {sum(r.n for r in told)} verify calls, and no other source of the same load"
    return f"{calls}: {'; '.join(whys)}" if whys else calls


def doubts(launch: LaunchEvidence, workload: str) -> tuple[str, ...]:
    """Return what the sources do not agree on, under this workload, and what the probe did not tell or did not see."""
    if launch.phases is None:
        return ()
    apart = (a.words for a in launch.phases.agreements if a.workload == workload and not a.agrees)
    told = probe_of(launch, Phase.VERIFY, workload)
    silent = launch.phases.unknown.get("probe") if told else None
    missed = verify_calls(launch, workload, told).missed
    return (
        *apart,
        *([f"the probe does not tell all: {silent}"] if silent else []),
        *([missed] if missed is not None else []),
    )


def waited_for(launch: LaunchEvidence, workload: str) -> SlowRank | None:
    """Return the rank that the others wait for, where the probe shows one, or else the traces, whatever load they are of."""
    by_phases = slow_rank([r for phase in ALONE for r in probe_of(launch, phase, workload)])
    traces = launch.phases.traces if launch.phases is not None else ()
    return by_phases or slow_by_kernels(traces)


def _others(table: PhaseTable | None, workload: str) -> Iterable[str]:
    """Yield what other sources tell of verify; means only, so no p50 and no p95."""
    if table is None:
        return
    for reading in table.readings:
        if reading.phase is Phase.VERIFY and reading.workload == workload and reading.source != "probe":
            yield f"{reading.source}: verify {reading.mean_ms:.3f} ms a call, a mean of {reading.n} calls"
