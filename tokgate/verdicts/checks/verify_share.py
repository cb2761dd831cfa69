"""Promise: verify takes no larger part of a cycle than its budget says."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Verdict
from tokgate.records.phases import Phase
from tokgate.rig.models import Rig
from tokgate.stats.phases import PHASES, together
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.phases import doubts, establish_phases, not_told, slowest_verify, why_no_verify
from tokgate.verdicts.series import Series
from tokgate.verdicts.shortfall import Shortfall

CHECK = "verify_share"
METRIC = "verify_share"


def verify_share(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge verify / cycle, both by the probe, in the slowest rank, one value a barrier start."""
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    verify = slowest_verify(launch, workload)
    table = launch.phases
    if verify is None or table is None:
        return (not_told(rig, established, (METRIC,), check=CHECK, why=why_no_verify(launch)),)
    step = together(table.readings, Phase.STEP, verify)
    cycles = {s.batch: s.mean_ms for s in step.starts if s.mean_ms > 0} if step is not None else {}
    shares = tuple((s.mean_ms / cycles[s.batch],) for s in verify.starts if s.batch in cycles)
    starts = len({g.batch for g in established.good})
    if len(shares) < starts:
        why = f"the probe tells of verify and of the whole cycle in {len(shares)} of {starts} starts"
        return (not_told(rig, established, (METRIC,), check=CHECK, why=why),)
    if max(share for (share,) in shares) > 1:
        return (_longer_than_its_cycle(established, shares),)
    series = Series(
        metric=METRIC,
        by_start=shares,
        sources=(f"probe, {verify.clock} clock: verify / step, means",),
        warnings=verify.warnings,
    )
    told = established.model_copy(update={"series": {**established.series, METRIC: series}})
    parts = [(p.value, together(table.readings, p, verify)) for p in (*PHASES, Phase.REST)]
    evidence = "; ".join(f"{name} {r.mean_ms:.3f} ms" for name, r in parts if r is not None)
    return judge_metric(
        rig, told, METRIC, check=CHECK, evidence=(evidence,), warnings=doubts(launch, workload)
    )


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
