"""Promise: verify takes no larger part of a cycle than its budget says."""

from __future__ import annotations

from tokgate.records import Verdict
from tokgate.records.phases import Phase
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.stats.phases import PHASES, together
from tokgate.verdicts.arm_runs import History, Launches, all_of
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.phases import doubts, not_told, slowest_verify, why_no_verify
from tokgate.verdicts.series import Series
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.validity import establish_arm

CHECK = "verify_share"
METRIC = "verify_share"


def verify_share(
    rig: Rig,
    launches: Launches,
    workload: str,
    *,
    history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge verify / cycle, both by the probe, in the slowest rank, one value a barrier start.

    `launches`: all launches of the arm with instruments, in order of time. `history`: as of
    `decode_throughput`.
    """
    established = establish_arm(instrumented(rig), all_of(launches), workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    runs, evidence = [], []
    for run in established:
        told = _told(rig, run)
        if isinstance(told, Verdict):
            return (told,)
        runs.append(told[0])
        evidence.append(told[1])
    return judge_metric(
        rig,
        runs,
        METRIC,
        check=CHECK,
        evidence=tuple(evidence),
        warnings=tuple(dict.fromkeys(d for run in runs for d in doubts(run.launch, workload))),
        history=history,
        instruments=True,
    )


def _told(rig: Rig, established: Established) -> tuple[Established, str] | Verdict:
    """Return a run with its shares, and what its phases take in words."""
    launch, workload = established.launch, established.workload
    verify, table = slowest_verify(launch, workload), launch.phases
    if verify is None or table is None:
        return not_told(rig, established, (METRIC,), check=CHECK, why=why_no_verify(launch))
    step = together(table.readings, Phase.STEP, verify)
    cycles = {s.batch: s.mean_ms for s in step.starts if s.mean_ms > 0} if step is not None else {}
    shares = tuple((s.mean_ms / cycles[s.batch],) for s in verify.starts if s.batch in cycles)
    starts = len({g.batch for g in established.good})
    if len(shares) < starts:
        why = f"the probe tells of verify and of the whole cycle in {len(shares)} of {starts} starts"
        return not_told(rig, established, (METRIC,), check=CHECK, why=why)
    if max(share for (share,) in shares) > 1:
        return _longer_than_its_cycle(established, shares)
    series = Series(
        metric=METRIC,
        by_start=shares,
        sources=(f"probe, {verify.clock} clock: verify / step, means",),
        warnings=verify.warnings,
    )
    told = established.model_copy(update={"series": {**established.series, METRIC: series}})
    parts = [(p.value, together(table.readings, p, verify)) for p in (*PHASES, Phase.REST)]
    return told, "; ".join(f"{name} {r.mean_ms:.3f} ms" for name, r in parts if r is not None)


def _longer_than_its_cycle(established: Established, shares: tuple[tuple[float], ...]) -> Verdict:
    """Return `invalid`, with or without a budget: a number that cannot be is no number."""
    longer = [share for (share,) in shares if share > 1]
    shortfall = Shortfall(
        what=f"verify is longer than the cycle it is a part of in {len(longer)} of {len(shares)} starts, "
        f"{max(longer):.2f} of it",
        do="believe no phase of this launch: a clock, or the probe's file, is wrong (launches/<id>/probe)",
    )
    return invalid(
        CHECK,
        [shortfall],
        launch=established.launch,
        workload=established.workload,
        metric=METRIC,
        n=len(shares),
        raw=established.raw,
    )
