"""An arm that carried its instruments, as a healthy session leaves it; tests plant one fault at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.verdicts.evidence import make_launch, series
from tokgate.records import LaunchEvidence
from tokgate.records.phases import (
    Agreement,
    GraphReading,
    GraphTruth,
    Phase,
    PhaseReading,
    PhaseStart,
    PhaseTable,
)

NAME = "05-eagle3-2step-phases"
VERIFY = (5.30, 5.32, 5.31, 5.33, 5.29, 5.31)
NO_PROBE = "no scheduler has written a file of the probe"


def phase(
    phase: Phase = Phase.VERIFY,
    starts: Sequence[float] = VERIFY,
    *,
    calls: int = 138,
    tail: float = 1.1,
    **changes: Any,
) -> PhaseReading:
    """One start per value, its p50 and mean; the p95 lies `tail` times above where there are calls enough."""
    told = tuple(
        PhaseStart(batch=n, n=calls, mean_ms=v, p50_ms=v, p95_ms=v * tail if calls >= 20 else None)
        for n, v in enumerate(starts)
    )
    fields: dict[str, Any] = {
        "phase": phase,
        "source": "probe",
        "clock": "gpu",
        "n": calls * len(told),
        "mean_ms": sum(starts) / len(starts),
        "p50_ms": sorted(starts)[len(starts) // 2],
        "concurrency": 1,
        "workload": "single",
        "rank": 0,
        "graph_share": 1.0 if phase is Phase.VERIFY else None,
        "starts": told,
    }
    return PhaseReading(**{**fields, **changes})


def table(*readings: PhaseReading, **changes: Any) -> PhaseTable:
    return PhaseTable(**{"launch": NAME, "readings": readings, **changes})


def untold(**changes: Any) -> PhaseTable:
    return table(unknown={"probe": NO_PROBE, "device-timer": "not asked for"}, **changes)


def agreement(apart: float = 0.005, *, agrees: bool = True, workload: str = "single") -> Agreement:
    name = "verify: probe against device-timer"
    return Agreement(
        name=name,
        concurrency=1,
        workload=workload,
        first_ms=5.33 * (1 + apart),
        second_ms=5.33,
        apart=apart,
        limit=(-0.03, 0.15),
        agrees=agrees,
        reason="the probe's call has sampling in it",
        words=f"{name}: {apart:+.1%}",
    )


def graphs(share: float | None, source: str = "decode-log", n: int = 30, **changes: Any) -> GraphTruth:
    reading = GraphReading.model_validate(
        {
            "source": source,
            "concurrency": 1,
            "share": share,
            "n": n,
            "why": None if share is not None else "no decode line",
        }
    )
    return GraphTruth(readings=(reading,), **changes)


def carrying(phases: PhaseTable | None, *, starts: int = 6, **changes: Any) -> LaunchEvidence:
    generations = series((59.8,) * starts, launch=NAME, verify_ct=138)
    return make_launch(
        generations, id=NAME, arm="eagle3-2step", role="instrumented", phases=phases, **changes
    )
