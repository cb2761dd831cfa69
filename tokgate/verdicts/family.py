"""How the session's chance of a false alarm is shared among its comparisons.

Weighted Bonferroni (Holland and Copenhaver 1987): whatever the dependence between metrics, and most of them say the same
thing, the chance that any comparison of a session calls a loss that is none stays below the whole. A few primary numbers
get most of it, so that adding a metric to the report hardly weakens them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Literal

from tokgate.records.record import Record
from tokgate.rig.models import Rig

from .metrics import METRICS, Metric, throughput_metric

PRIMARY_SHARE = 0.8
# What a comparison is with; a session makes all three.
OF_KIND: dict[str, float] = {"stored": 0.6, "limit": 0.2, "twin": 0.2}
# A session that measures a change was begun for that: half of it all, and the others share the rest as ever.
OF_A_CHANGE = 0.5
# Of a change beside the throughput: no baseline and no limit is needed for them, and all are of timed launches.
BESIDE_SPEED = ("ttft_ms",)
BESIDE_SPEED_OF_EAGLE3 = ("accept_length", "cycle_ms")

Kind = Literal["stored", "limit", "twin", "side"]


class Share(Record):
    """What one comparison may spend, over all its looks."""

    level: float  # one-sided
    among: int  # comparisons of its kind and rank in a session of this rig
    words: str


def share_of(rig: Rig, kind: Kind, metric: Metric, workload: str, *, false_alarm: float) -> Share:
    """Return what a comparison of a session of this rig is given, from the rig alone: a selection gets no more.

    `false_alarm`: chance for all comparisons of the session together.
    """
    is_primary = primary(rig, metric, workload)
    among = max(1, _count(rig, kind, is_primary=is_primary))
    share = PRIMARY_SHARE if is_primary else 1 - PRIMARY_SHARE
    level = false_alarm * _of_kind(rig, kind) * share / among
    rank = "primary" if is_primary else "other"
    return Share(
        level=level,
        among=among,
        words=f"{chance(level)} of the session's {chance(false_alarm)} (one of {among} {rank} comparisons of kind {kind})",
    )


def handed_on(levels: Mapping[str, float], called: Collection[str]) -> dict[str, float]:
    """Return the levels of what is not called yet: they share what the called ones had (Holm 1979, weighted).

    `levels`: of comparisons that are judged together, by name. A loss shows in a dozen metrics that say the same thing;
    once one of them is called, the next need not be as sure, and the chance of any false alarm stays what it was.
    """
    if not called:
        return dict(levels)
    rest = math.fsum(level for name, level in levels.items() if name not in called)
    whole = math.fsum(levels.values())
    return {name: level * whole / rest for name, level in levels.items() if name not in called}


def chance(value: float) -> str:
    """Format a chance in per cent by two digits that count: 0.12%, 0.0043%."""
    return f"{value * 100:.2g}%"


def primary(rig: Rig, metric: Metric, workload: str) -> bool:
    """Say whether a metric is what its workload is run for: the throughput, and the verify phase."""
    concurrency = next((w.concurrency for w in rig.workloads if w.name == workload), 1)
    return metric.name in (throughput_metric(concurrency).name, "verify_ms")


def _of_kind(rig: Rig, kind: Kind) -> float:
    if rig.sides is None:
        return OF_KIND[kind]
    return OF_A_CHANGE if kind == "side" else OF_KIND[kind] * (1 - OF_A_CHANGE)


def _count(rig: Rig, kind: Kind, *, is_primary: bool) -> int:
    if kind == "side":
        eagle3 = sum(a.kind == "eagle3" for a in rig.arms)
        beside = len(BESIDE_SPEED) * len(rig.arms) + len(BESIDE_SPEED_OF_EAGLE3) * eagle3
        return (len(rig.arms) if is_primary else beside) * len(rig.workloads)
    if kind == "twin":
        arms = sum(a.kind == "eagle3" for a in rig.arms)
        arms += (
            bool(rig.server.nccl) and rig.gpus.count > 1
        )  # the control arm with and without its NCCL block
        return arms * len(rig.workloads) if is_primary else 0
    if kind == "limit":
        return sum(
            (b.arm in ("*", arm.name)) and b.workload in ("*", w.name)
            for b in rig.budgets
            for arm in rig.arms
            for w in rig.workloads
            if b.metric in METRICS and primary(rig, METRICS[b.metric], w.name) is is_primary
        )
    cells = len(rig.arms) * len(rig.workloads)
    # Stored baselines hold timed launches: throughput is the one primary number there.
    others = sum(m.stored for m in METRICS.values()) - 1
    return cells if is_primary else cells * others
