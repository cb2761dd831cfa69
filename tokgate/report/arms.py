"""The arithmetic everyone should see at once: what an arm made of its cycles, beside its twin.

Speculation wins exactly when accept_length / cycle_ms > 1 / decode_ms of the control arm, so the
longest cycle that still breaks even is accept_length / (control tok/s) seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tokgate.records import Record, Role

from .series import Series

DECODE, CYCLE, ACCEPT = "decode_tok_s", "cycle_ms", "accept_length"


class ArmRow(Record):
    """Medians of one launch under one workload; None where it was not measured or does not apply."""

    launch: str
    arm: str
    role: Role
    workload: str
    n: int  # known decode samples
    decode_tok_s: float | None
    cycle_ms: float | None
    accept_length: float | None
    speed_up: float | None  # decode tok/s over that of all control launches of this run
    break_even_cycle_ms: float | None  # a longer cycle than this loses against the control arm


def arm_rows(series: Sequence[Series]) -> tuple[ArmRow, ...]:
    """Return one row per launch and workload, in order of measurement."""
    keys = dict.fromkeys((s.launch, s.workload) for s in series)
    return tuple(_row(series, launch, workload) for launch, workload in keys)


def _row(series: Sequence[Series], launch: str, workload: str) -> ArmRow:
    mine = {s.metric: s for s in series if (s.launch, s.workload) == (launch, workload)}
    first = next(iter(mine.values()))
    decode, accept = _median(mine.get(DECODE)), _median(mine.get(ACCEPT))
    control = _control(series, workload)
    timed = first.role != "instrumented"
    speculative = first.role == "arm" and accept is not None
    return ArmRow(
        launch=launch,
        arm=first.arm,
        role=first.role,
        workload=workload,
        n=len(mine[DECODE].known) if DECODE in mine else 0,
        decode_tok_s=decode,
        cycle_ms=_median(mine.get(CYCLE)),
        accept_length=accept,
        # An arm that carries instruments is never counted for throughput.
        speed_up=decode / control if decode is not None and control and timed else None,
        break_even_cycle_ms=accept / control * 1e3 if speculative and accept and control else None,
    )


def _control(series: Sequence[Series], workload: str) -> float | None:
    """Return the median decode tok/s of all control launches together."""
    values = [
        v
        for s in series
        if s.metric == DECODE and s.workload == workload and s.role in ("control", "control-again")
        for v in s.known
    ]
    return median(values) if values else None


def _median(series: Series | None) -> float | None:
    return series.summary.median if series is not None and series.summary is not None else None
