"""The control of a session before its other arms against the control after them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig

from .arm_restarts import Stored, stored_runs, taking
from .drifting import KNOWN, Drift, drift_between
from .establish import Established, establish_workload, invalid
from .metrics import Metric, floor_of, throughput_metric
from .run_values import values_now
from .shortfall import Shortfall

CHECK = "drift"


class Found(NamedTuple):
    drift: Drift
    metric: Metric
    before: Established
    after: Established

    @property
    def values(self) -> tuple[float, float]:
        before, after = (
            statistics.median(one.series[self.metric.name].values) for one in (self.before, self.after)
        )
        return before, after


def drift_of(
    rig: Rig,
    controls: Sequence[LaunchEvidence],
    workload: str,
    baseline_runs: Stored | None = None,
) -> Found | Verdict | None:
    """Compare the control before the other arms with the one after them; None where there are no such two.

    Restarts of the control arm tell what its runs differ by. A control that cannot be judged is its `invalid`.
    """
    mine = taking(controls, workload)
    before = next((one for one in mine if one.launch.role == "control"), None)
    after = next((one for one in mine if one.launch.role == "control-again"), None)
    if before is None or after is None:
        return None
    others = [one for one in mine if one.launch.role == "restart" and one.launch.arm == before.launch.arm]
    metric = speed_metric(rig, workload)
    established = []
    for launch in (before, after, *others):
        found = establish_workload(rig, launch, workload, check=CHECK)
        if isinstance(found, Verdict):
            return found
        if metric.name not in found.series:
            shortfall = Shortfall(
                what=f"{metric.name} is unknown: {found.why_missing(metric.name)}",
                do="see the raw bodies of this launch",
            )
            return invalid(CHECK, [shortfall], launch=launch, workload=workload, metric=metric.name)
        established.append(found)
    now = values_now(established, metric.name)
    stored = stored_runs((baseline_runs or {}).get(before.launch.arm, ()), metric.name, now)
    found_drift = drift_between(
        now[0].values, now[1].values, floor_of(rig, metric), history=(*stored, *now[2:])
    )
    return Found(found_drift, metric, established[0], established[1])


def moved_between_controls(rig: Rig, controls: Sequence[LaunchEvidence], workload: str) -> float:
    """Return what the two controls of a session lie apart, relative, either way; 0 where there are no such two."""
    found = drift_of(rig, controls, workload)
    return abs(found.drift.change) if isinstance(found, Found) else 0.0


def speed_metric(rig: Rig, workload: str) -> Metric:
    """Return what speed means for a workload; of one that the rig does not know, which nothing can be judged of, too."""
    return throughput_metric(next((w.concurrency for w in rig.workloads if w.name == workload), 1))


def drift_words(found: Found) -> str:
    drift, metric = found.drift, found.metric
    told = f"control {metric.bare(found.values[0])} before, {metric.text(found.values[1])} after"
    words = {
        "drifted": f"the machine drifted by {drift.change:+.1%}",
        "unsure": f"drift not excluded, {drift.change:+.1%}",
        "none": "no drift",
    }[drift.state]
    return f"{words}: {told} ({drift.change:+.1%}, {drift.why})"


def drift_do(drift: Drift, workload: str) -> str | None:
    if drift.state == "drifted":
        return "no number of this session stands for the machine: look at clocks, heat and other load, measure again"
    if drift.state == "none":
        return None
    if drift.lacks_restarts:
        return (
            f"restart the control {KNOWN} more times, or store a baseline of several runs: what its restarts differ by "
            "tells the two apart"
        )
    return f"raise repeats of {workload}, or find what else runs on the machine"


def restarts_words(drift: Drift) -> str:
    if drift.known and drift.sd is not None:
        return (
            f"restarts of this arm differ by {drift.sd:.2%} (standard deviation, {drift.seen} seen): two of them are "
            f"granted {drift.restarts:.1%}"
        )
    return (
        f"{drift.seen} restarts of this arm are known besides: two of them are granted {drift.restarts:.1%}, from the "
        "most that restarts of a server were seen to differ by"
    )
