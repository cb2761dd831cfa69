"""The arithmetic everyone should see at once: what an arm made of its cycles, beside its twin.

Speculation wins exactly when accept_length / cycle_ms > 1 / decode_ms of the control arm, so the
longest cycle that still breaks even is accept_length / (control tok/s) seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

from tokgate.records import Record, Role

from .series import Series

CYCLE, ACCEPT = "cycle_ms", "accept_length"
DECODE: Literal["decode_tok_s"] = "decode_tok_s"
TOTAL: Literal["total_tok_s"] = "total_tok_s"


class ArmRow(Record):
    """Medians of one launch under one workload; None where it was not measured or does not apply."""

    launch: str
    arm: str
    role: Role
    workload: str
    n: int  # known decode samples
    decode_tok_s: float | None  # of one stream
    total_tok_s: float | None = None  # of all streams together; None with one stream: it is the same thing
    cycle_ms: float | None
    accept_length: float | None
    speed_up: float | None  # `speed_up_of` over that of all control launches of this run
    speed_up_of: Literal["decode_tok_s", "total_tok_s"] = DECODE  # as in the twin check
    break_even_cycle_ms: float | None  # with a longer cycle a stream is slower than in the control arm

    @property
    def compared(self) -> str:
        """Return "total" where the speed-up is that of all streams together."""
        return "total" if self.speed_up_of == TOTAL else ""


def arm_rows(series: Sequence[Series], streams: Mapping[str, int]) -> tuple[ArmRow, ...]:
    """Return one row per launch and workload, in order of measurement.

    `streams`: how many a workload has at once; one that is not named has one.
    """
    keys = dict.fromkeys((s.launch, s.workload) for s in series)
    return tuple(_row(series, launch, workload, streams.get(workload, 1)) for launch, workload in keys)


def _row(series: Sequence[Series], launch: str, workload: str, streams: int) -> ArmRow:
    mine = {s.metric: s for s in series if (s.launch, s.workload) == (launch, workload)}
    first = next(iter(mine.values()))
    decode, accept = _median(mine.get(DECODE)), _median(mine.get(ACCEPT))
    total = _median(mine.get(TOTAL)) if streams > 1 else None
    control = _control(series, workload, DECODE)
    reached, twin = (decode, control) if streams == 1 else (total, _control(series, workload, TOTAL))
    timed = first.role != "instrumented"
    speculative = first.role == "arm" and accept is not None
    return ArmRow(
        launch=launch,
        arm=first.arm,
        role=first.role,
        workload=workload,
        n=len(mine[DECODE].known) if DECODE in mine else 0,
        decode_tok_s=decode,
        total_tok_s=total,
        cycle_ms=_median(mine.get(CYCLE)),
        accept_length=accept,
        # An arm that carries instruments is never counted for throughput.
        speed_up=reached / twin if reached is not None and twin and timed else None,
        speed_up_of=DECODE if streams == 1 else TOTAL,
        break_even_cycle_ms=accept / control * 1e3 if speculative and accept and control else None,
    )


def _control(series: Sequence[Series], workload: str, metric: str) -> float | None:
    """Return the median of a metric over all control launches together."""
    values = [
        v
        for s in series
        if s.metric == metric and s.workload == workload and s.role in ("control", "control-again")
        for v in s.known
    ]
    return median(values) if values else None


def _median(series: Series | None) -> float | None:
    return series.summary.median if series is not None and series.summary is not None else None
