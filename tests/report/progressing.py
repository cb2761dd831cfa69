"""A session's events, and a clock that tests move."""

from __future__ import annotations

from dataclasses import dataclass

from tokgate.records.progress import (
    AskedRestart,
    LaunchEnded,
    PlanMade,
    PlannedLaunch,
    PlannedRestarts,
    PlannedWork,
    RestartsDecided,
    SessionPlan,
    Span,
    Stage,
    StageBegan,
    StartTaken,
)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def span(likely: float | None, *, low: float = 0.0, high: float = 999.0) -> Span:
    return Span(low=low, likely=likely, high=high)


def launch(name: str, likely: float | None, *, taking: float | None = None) -> PlannedLaunch:
    work = (PlannedWork(workload="single", generations=9, output_tokens=1152),)
    return PlannedLaunch(launch=name, arm="baseline", work=work, seconds=span(likely), taking_s=taking)


def plan(*launches: PlannedLaunch, **changes: object) -> SessionPlan:
    made = launches or (launch("01-baseline", 30.0), launch("02-eagle3-2step", 40.0))
    found = SessionPlan(
        rig="kimi-8gpu",
        simulated=False,
        gpus=8,
        launches=made,
        seconds=span(70.0, low=60.0, high=100.0),
        gpu_seconds=span(560.0),
        basis="from 3 sessions of this rig, the last of 2026-11-29",
    )
    return found.model_copy(update=changes)


def made(*launches: PlannedLaunch, **changes: object) -> PlanMade:
    return PlanMade(plan=plan(*launches, **changes))


def stage(
    which: Stage, launch: str | None = "01-baseline", workload: str | None = None, of: int = 0
) -> StageBegan:
    return StageBegan(stage=which, launch=launch, workload=workload, generations=of)


def taken(
    done: int,
    *,
    of: int = 9,
    launch: str = "01-baseline",
    workload: str = "single",
    streams: int = 1,
    tok_s: float | None = 88.9,
    accept_length: float | None = None,
    failed: int = 0,
) -> StartTaken:
    return StartTaken(
        stage=Stage.MEASURING,
        launch=launch,
        workload=workload,
        generations=done,
        of=of,
        streams=streams,
        failed=failed,
        tok_s=tok_s,
        accept_length=accept_length,
    )


def ended(launch: str = "01-baseline", seconds: float | None = 30.0, *, started: bool = True) -> LaunchEnded:
    return LaunchEnded(launch=launch, seconds=seconds, started=started)


def decided(**restarts: float) -> RestartsDecided:
    """`restarts`: launch -> seconds; none: no further one is made."""
    asked = [AskedRestart(launch=name, seconds=seconds) for name, seconds in restarts.items()]
    return RestartsDecided(launches=tuple(asked))


RESTARTS = PlannedRestarts(least=0, most=6, least_s=0.0, most_s=180.0)
