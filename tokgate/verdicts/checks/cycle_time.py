"""Promise: one speculative cycle takes no longer than its budget says."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.establish import establish_workload, invalid
from tokgate.verdicts.shortfall import Shortfall

CHECK = "cycle_time"
CONTAINS = "a cycle is draft + verify + extend + host time: it is not the latency of the verify phase"


def cycle_time(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge decode seconds per verify call; an arm without speculation has no cycle and is `invalid`."""
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    if rig.arm(launch.launch.arm).kind != "eagle3":
        shortfall = Shortfall(
            what=f"{launch.launch.arm} does no speculation: it has no cycle",
            do="ask this of an eagle3 arm",
        )
        return (invalid(CHECK, [shortfall], launch=launch, workload=workload, metric="cycle_ms"),)
    return judge_metric(rig, established, "cycle_ms", check=CHECK, evidence=(CONTAINS,))
