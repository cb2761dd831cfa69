"""Promise: one speculative cycle takes no longer than its budget says."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.derived import Derivation
from tokgate.verdicts.establish import establish_workload, invalid
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.speculating import is_off

CHECK = "cycle_time"
METRIC = "cycle_ms"
CONTAINS = "a cycle is draft + verify + extend + host time: it is not the latency of the verify phase"


def cycle_time(
    rig: Rig, launch: LaunchEvidence, workload: str, controls: Sequence[LaunchEvidence] = ()
) -> tuple[Verdict, ...]:
    """Judge decode seconds per verify call; an arm without speculation has no cycle and is `invalid`.

    `controls`: the control arm of this session, which a limit derived from break-even needs and no other does.
    """
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    arm = rig.arm(launch.launch.arm)
    shortfall = is_off(arm, established)
    if arm.kind != "eagle3":
        shortfall = Shortfall(
            what=f"{launch.launch.arm} does no speculation: it has no cycle",
            do="ask this of an eagle3 arm",
        )
    if shortfall is not None:
        return (invalid(CHECK, [shortfall], launch=launch, workload=workload, metric=METRIC),)
    derive = Derivation(rig, established, controls, CHECK)
    return judge_metric(rig, established, METRIC, check=CHECK, evidence=(CONTAINS,), derive=derive)
