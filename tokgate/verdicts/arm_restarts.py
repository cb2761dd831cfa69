"""What the server runs of one arm differ by, this session's and the stored ones, and whether they have two modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.levels import RunValues
from tokgate.stats.modes import Restarts, restarts_of

from .baselines.file import BaselineLaunch
from .establish import establish_workload, invalid
from .ledger import run_values
from .metrics import Metric, floor_of
from .run_values import values_now
from .shortfall import Shortfall
from .unsteady import steady_metric

CHECK = "restarts"
Stored = Mapping[str, Sequence[BaselineLaunch]]  # arm -> the server runs of its stored baseline


def restarts_seen(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    workload: str,
    baseline_runs: Stored | None = None,
) -> tuple[Restarts, Metric] | Verdict:
    """Return what the runs of one arm differ by, this session's and the stored ones, or why one cannot be judged."""
    mine = taking(launches, workload)
    established = []
    for launch in mine:
        found = establish_workload(rig, launch, workload, check=CHECK)
        if isinstance(found, Verdict):
            return found
        established.append(found)
    arm = mine[0].launch.arm
    metric = steady_metric(rig, arm, workload)
    now = values_now(established, metric.name)
    if not now:
        shortfall = Shortfall(
            what=f"{metric.name} is unknown: {established[0].why_missing(metric.name)}",
            do="see the raw bodies of this launch",
        )
        return invalid(CHECK, [shortfall], launch=mine[0], workload=workload, metric=metric.name)
    stored = stored_runs((baseline_runs or {}).get(arm, ()), metric.name, now)
    return restarts_of((*stored, *now), floor=floor_of(rig, metric).relative), metric


def stored_runs(
    runs: Iterable[BaselineLaunch], metric: str, now: Sequence[RunValues]
) -> tuple[RunValues, ...]:
    """Return the stored runs of a metric, but those of `now`: a baseline may hold the very run that is judged."""
    again = {(run.launch, run.values) for run in now}
    found = run_values(tuple(runs), metric)
    return tuple(run for run in found if (run.launch, run.values) not in again)


def taking(launches: Sequence[LaunchEvidence], workload: str) -> tuple[LaunchEvidence, ...]:
    """Leave out restarts that were asked for on account of other workloads."""
    return tuple(one for one in launches if not one.launch.workloads or workload in one.launch.workloads)


def modes_words(arm: str, workload: str, found: Restarts, metric: Metric) -> str:
    (low, lows), (high, highs) = found.groups or ((0.0, 0), (0.0, 0))
    return (
        f"server runs of {arm} fall into two modes in {workload}, {found.gap or 0.0:.1%} apart: {metric.words} "
        f"{metric.bare(low)} in {lows}, {metric.text(high)} in {highs}"
        + ("" if found.came_back else "; or the machine moved between them")
    )


def modes_do(found: Restarts) -> str:
    first = "compare the logs of a run of each (NCCL's choice of algorithm, graphs, custom all-reduce)"
    return first if found.came_back else f"{first}; restart once more: modes come back, a drift does not"


def run_lines(found: Restarts, metric: Metric) -> tuple[str, ...]:
    sessions: dict[str, list[str]] = {}
    for session, launch, value in found.values:
        sessions.setdefault(session, []).append(f"{launch} {metric.bare(value)}")
    return tuple(f"{session}: {', '.join(told)} {metric.unit}" for session, told in sessions.items())
