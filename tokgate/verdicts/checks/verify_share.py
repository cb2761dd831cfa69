"""Promise: verify takes no larger part of a cycle than its budget says."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Verdict
from tokgate.records.phases import Phase
from tokgate.rig.models import Rig
from tokgate.stats.phases import PHASES, together
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.phases import doubts, establish_phases, not_told, probe_of, slowest, why_no_verify
from tokgate.verdicts.series import Series

CHECK = "verify_share"
METRIC = "verify_share"


def verify_share(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge verify / cycle, both by the probe, in the slowest rank, one value a barrier start."""
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    verify = slowest(probe_of(launch, Phase.VERIFY, workload))
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
