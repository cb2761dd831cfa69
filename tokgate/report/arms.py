"""What every launch made under every workload, beside the control arm; why it did is in arithmetic.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

from tokgate.records import Record, Role, RunEvidence
from tokgate.stats.summary import summarise
from tokgate.verdicts.series import series_of as by_start

from .arithmetic import Arithmetic
from .series import Series, judged

CYCLE, ACCEPT = "cycle_ms", "accept_length"
DECODE: Literal["decode_tok_s"] = "decode_tok_s"
TOTAL: Literal["total_tok_s"] = "total_tok_s"

# Launch, workload, metric -> one value a barrier start, as verdicts and arithmetic count.
Starts = Mapping[tuple[str, str, str], tuple[float, ...]]


class ArmRow(Record):
    """Medians of one launch under one workload; None where it was not measured or does not apply."""

    launch: str
    arm: str
    role: Role
    workload: str
    n: int  # barrier starts of which the decode rate is known
    decode_tok_s: float | None  # of one stream
    total_tok_s: float | None = None  # of all streams together; None with one stream: it is the same thing
    cycle_ms: float | None
    accept_length: float | None
    speed_up: float | None  # `speed_up_of` over that of all control launches of this run
    speed_up_of: Literal["decode_tok_s", "total_tok_s"] = DECODE  # as in the twin check
    break_even_cycle_ms: float | None = None  # with a longer cycle a stream is slower than in the control arm

    @property
    def compared(self) -> str:
        """Return "total" where the speed-up is that of all streams together."""
        return "total" if self.speed_up_of == TOTAL else ""


def starts_of(evidence: RunEvidence) -> dict[tuple[str, str, str], tuple[float, ...]]:
    """Return the values by barrier start; a metric that one answer does not tell is left out."""
    found = {}
    for launch in evidence.launches:
        good = [g for g in launch.generations if g.good and not g.warmup]
        for workload in dict.fromkeys(g.workload for g in good):
            of_it = sorted(
                (g for g in good if g.workload == workload), key=lambda g: (g.batch, g.slot, g.index)
            )
            for metric, told in by_start(tuple(of_it))[0].items():
                found[launch.launch.id, workload, metric] = told.values
    return found


def as_judged(series: Series, starts: Starts) -> Series:
    """Give a series the median and interval that verdicts and stored baselines have: streams that began together count once."""
    told = [v for v in starts.get((series.launch, series.workload, series.metric), ()) if math.isfinite(v)]
    return series.model_copy(update={"summary": summarise(told)}) if told else series


def arm_rows(
    series: Sequence[Series],
    streams: Mapping[str, int],
    arithmetic: Sequence[Arithmetic] = (),
    starts: Starts | None = None,
) -> tuple[ArmRow, ...]:
    """Return one row per launch and workload, in order of measurement.

    `streams`: how many a workload has at once; one that is not named has one. `arithmetic` knows the break-even.
    Answers that `starts` does not know count one by one.
    """
    keys = dict.fromkeys((s.launch, s.workload) for s in judged(series))
    limits = {(row.launch, row.workload): row.break_even_cycle_ms for row in arithmetic}
    return tuple(
        _row(series, launch, workload, streams=streams.get(workload, 1), starts=starts or {}).model_copy(
            update={"break_even_cycle_ms": limits.get((launch, workload))}
        )
        for launch, workload in keys
    )


def _row(series: Sequence[Series], launch: str, workload: str, *, streams: int, starts: Starts) -> ArmRow:
    mine = {s.metric: _values(s, starts) for s in series if (s.launch, s.workload) == (launch, workload)}
    first = next(s for s in series if (s.launch, s.workload) == (launch, workload))
    decode = _median(mine.get(DECODE, ()))
    total = _median(mine.get(TOTAL, ())) if streams > 1 else None
    reached = decode if streams == 1 else total
    twin = _control(series, workload, DECODE if streams == 1 else TOTAL, starts)
    # What carries instruments is never counted for throughput; the base of a change has a control of its own.
    counts = first.role not in ("instrumented", "side", "side-phases")
    return ArmRow(
        launch=launch,
        arm=first.arm,
        role=first.role,
        workload=workload,
        n=len(mine.get(DECODE, ())),
        decode_tok_s=decode,
        total_tok_s=total,
        cycle_ms=_median(mine.get(CYCLE, ())),
        accept_length=_median(mine.get(ACCEPT, ())),
        speed_up=reached / twin if reached is not None and twin and counts else None,
        speed_up_of=DECODE if streams == 1 else TOTAL,
    )


def _control(series: Sequence[Series], workload: str, metric: str, starts: Starts) -> float | None:
    """Return the median of a metric over all control launches together."""
    return _median(
        [
            v
            for s in series
            if s.metric == metric and s.workload == workload and s.role in ("control", "control-again")
            for v in _values(s, starts)
        ]
    )


def _values(series: Series, starts: Starts) -> Sequence[float]:
    return starts.get((series.launch, series.workload, series.metric)) or series.known


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
