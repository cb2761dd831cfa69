"""The marks that causes leave: each looked for once, before any loss is charged to one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokgate.stats.ranks import SlowRank
from tokgate.verdicts.metrics import METRICS, floor_of
from tokgate.verdicts.phases import waited_for

from .case import Case
from .clocks import Card, Held, held_back, slow_card
from .graphs import Graphs, graphs_of
from .losses import Place
from .motion import Levels, Trend, levels_of, trend_of
from .origin import Origin, origin_of
from .variables import Refuted, is_nccl, refuted


@dataclass(frozen=True)
class Marks:
    """By arm and workload, where a mark has a place. A place without one has no entry."""

    held: Mapping[Place, Held]
    trends: Mapping[Place, Trend]
    levels: Mapping[str, Levels]  # workload -> of the arm whose runs lie furthest apart
    graphs: Mapping[Place, Graphs]  # of speculating arms
    slow_rank: tuple[SlowRank, str] | None  # and the launch that shows it
    slow_card: Card | None
    origin: Origin
    nccl: tuple[Refuted, ...]
    environment: tuple[Refuted, ...]


def marks_of(case: Case) -> Marks:
    held: dict[Place, Held] = {}
    trends: dict[Place, Trend] = {}
    levels: dict[str, Levels] = {}
    graphs: dict[Place, Graphs] = {}
    for arm, workload in case.sides:
        place, launches = (arm, workload), case.timed(arm)
        speculative = arm in case.speculating
        metric = METRICS["cycle_ms" if speculative else "decode_tok_s"]
        floor = floor_of(case.rig, metric).relative
        found = held_back(launches, workload, speculative=speculative, most_mhz=_most_mhz(case))
        if found is not None:
            held[place] = found
        elif (trend := trend_of(launches, workload, speculative=speculative, floor=floor)) is not None:
            trends[place] = trend
        else:
            apart = levels_of(launches, workload, speculative=speculative, floor=floor)
            if apart is not None and (workload not in levels or apart.log > levels[workload].log):
                levels[workload] = apart
        if speculative:
            concurrency = case.rig.workload(workload).concurrency
            loss, other, whose = (
                case.losses.get(place),
                case.launches(case.control),
                "the control arm's steps",
            )
            if loss is not None and loss.beside:
                other, whose = case.bases(arm), "its base's verify steps"
            graphs[place] = graphs_of(case.launches(arm), other, workload, concurrency, whose=whose)
    wrong = refuted(case.run)
    return Marks(
        held=held,
        trends=trends,
        levels=levels,
        graphs=graphs,
        slow_rank=_slow_rank(case),
        slow_card=slow_card(case.run.launches, [w.name for w in case.rig.workloads]),
        origin=origin_of(case),
        nccl=tuple(r for r in wrong if is_nccl(case.rig, r.row.variable)),
        environment=tuple(r for r in wrong if not is_nccl(case.rig, r.row.variable)),
    )


def _most_mhz(case: Case) -> float | None:
    """Return the highest SM clock that the driver names for any card."""
    facts = case.run.fingerprint.facts if case.run.fingerprint is not None else {}
    told = [v for k, v in facts.items() if k.startswith("gpu.") and k.endswith(".clocks.max.sm")]
    return max((float(v) for v in told if v is not None and v.isdecimal()), default=None)


def _slow_rank(case: Case) -> tuple[SlowRank, str] | None:
    for launch in case.run.launches:
        if launch.launch.role == "instrumented":
            for workload in case.rig.workloads:
                found = waited_for(launch, workload.name)
                if found is not None:
                    return found, launch.launch.id
    return None
