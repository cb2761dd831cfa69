"""Starts of a workload beyond its repeats, taken while those of this launch spread too far."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tokgate.records import Generation, Launch
from tokgate.rig.models import Rig
from tokgate.rig.workload import WorkloadSpec
from tokgate.stats.bounds import DETECT
from tokgate.stats.starts import enough_starts
from tokgate.verdicts.metrics import floor_of
from tokgate.verdicts.series import series_of
from tokgate.verdicts.unsteady import moves, steady_metric

from .plan import Batch


def extra_batches(rig: Rig, launch: Launch, workload: WorkloadSpec) -> Iterator[Batch]:
    """Yield every start that may be added; none where the launch is not one of its arm's own, or the rig wants none.

    Where the prefix cache is flushed they ask the prompts of the judged starts again, in turn: others would change what
    a launch says, not only how well it is known. Prompts that must never repeat go on counting.
    """
    spec = rig.sampling
    if spec.gpu_time_s == 0 or not launch.timed or workload.name not in {w.name for w in rig.workloads}:
        return
    size, total = workload.concurrency, workload.warmup + workload.repeats
    for number in range(total, workload.warmup + most_starts(rig, workload)):
        same = workload.warmup + (number - total) % workload.repeats
        asked = same if workload.cache == "flush" else number
        yield Batch(
            workload=workload.name,
            number=number,
            warmup=False,
            indexes=tuple(range(asked * size, (asked + 1) * size)),
        )


def most_starts(rig: Rig, workload: WorkloadSpec) -> int:
    """Return how many judged starts of a workload one launch may take."""
    return max(workload.repeats, math.floor(workload.repeats * rig.sampling.most_starts))


def has_enough(rig: Rig, launch: Launch, workload: WorkloadSpec, generations: Sequence[Generation]) -> bool:
    """Say whether the launch has starts enough of this workload, by how far they spread alone.

    One that failed, or a number that is unknown, asks for no more: the launch is invalid, and stays so. So it is where
    the numbers are still moving, which spreads them too: more of them would not make it steady.
    """
    judged = [g for g in generations if g.workload == workload.name and not g.warmup]
    if not judged or not all(g.good for g in judged):
        return True
    metric = steady_metric(rig, launch.arm, workload.name)
    series, _ = series_of(tuple(judged))
    if metric.name not in series:
        return True
    floor = floor_of(rig, metric).relative
    if moves(series[metric.name].values, floor):
        return True
    return enough_starts(series[metric.name].values, detect=DETECT * floor, cap=most_starts(rig, workload))
