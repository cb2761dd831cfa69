"""Promise: one speculative cycle takes no longer than its budget says."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.arm_runs import History, Launches, all_of
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.derived import Derivation
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.speculating import is_off
from tokgate.verdicts.validity import establish_arm

CHECK = "cycle_time"
METRIC = "cycle_ms"
CONTAINS = "a cycle is draft + verify + extend + host time: it is not the latency of the verify phase"


def cycle_time(
    rig: Rig,
    launches: Launches,
    workload: str,
    controls: Sequence[LaunchEvidence] = (),
    *,
    history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge decode seconds per verify call; an arm without speculation has no cycle and is `invalid`.

    `controls`: the server runs of the control arm in this session, which a limit derived from break-even needs and no
    other does. `launches`, `history`: as of `decode_throughput`.
    """
    runs = establish_arm(rig, all_of(launches), workload, check=CHECK)
    if isinstance(runs, Verdict):
        return (runs,)
    arm = rig.arm(runs[0].launch.launch.arm)
    for run in runs:
        shortfall = is_off(arm, run)
        if arm.kind != "eagle3":
            shortfall = Shortfall(
                what=f"{arm.name} does no speculation: it has no cycle", do="ask this of an eagle3 arm"
            )
        if shortfall is not None:
            return (invalid(CHECK, [shortfall], launch=run.launch, workload=workload, metric=METRIC),)
    derive = Derivation(rig, runs, controls, CHECK)
    return judge_metric(rig, runs, METRIC, check=CHECK, evidence=(CONTAINS,), derive=derive, history=history)
