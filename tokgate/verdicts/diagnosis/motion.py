"""Numbers that move: a trend inside server runs, and server runs of one arm that lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.record import Record
from tokgate.stats.steady import steadiness_of

from .readings import good_of, raw_series

NS = 1e9
# Runs lie apart when the gap is this many times the robust spread inside them: steadiness calls less one level.
APART = 4.0


class Trend(Record):
    """A server that becomes slower while it runs. `log`: what that has cost by the middle of the measurement."""

    log: float
    whole: float  # relative, from the first start to the last; above 0: slower
    words: str


def trend_of(
    launches: Sequence[LaunchEvidence], workload: str, *, speculative: bool, floor: float
) -> Trend | None:
    """Return the trend towards slower of the runs of an arm, where most of them have one beyond the floor.

    The cost is read off the line from the start of the server, warm-ups and other workloads included, to the middle
    of this workload's starts.
    """
    metric = "cycle_ms" if speculative else "decode_tok_s"
    found: list[Trend] = []
    known = 0
    for launch in launches:
        series = raw_series(launch, workload).get(metric)
        if series is None or len(series.values) < 2:
            continue
        known += 1
        slow = series.values if speculative else tuple(1 / v for v in series.values)
        steady = steadiness_of(slow)
        if not steady.trending(floor) or steady.trend is None or steady.trend <= 0:
            continue
        sent = [g.sent_ns for g in good_of(launch, workload)]
        began = min(g.sent_ns for g in launch.generations)
        across = (max(sent) - min(sent)) / NS
        young = launch.server.ready_after_s if launch.server is not None else 0.0
        until = (statistics.median(sent) - began) / NS + young
        cost = steady.trend * (until / across if across > 0 else 0.5)
        found.append(
            Trend(
                log=math.log1p(cost),
                whole=steady.trend,
                words=f"{launch.launch.id}: {metric} of {workload} becomes {steady.trend:.1%} slower from the first "
                f"start to the last (Kendall's tau, p={steady.trend_p:.3f})",
            )
        )
    if not found or 2 * len(found) < known:
        return None
    return Trend(
        log=statistics.median(t.log for t in found),
        whole=statistics.median(t.whole for t in found),
        words="; ".join(t.words for t in found),
    )


class Levels(Record):
    """Server runs of one arm that lie apart. `log`: slowest to fastest, of the whole step."""

    log: float
    runs: int
    words: str


def levels_of(
    launches: Sequence[LaunchEvidence], workload: str, *, speculative: bool, floor: float
) -> Levels | None:
    """Return runs of one arm that differ by more than the floor, and by far more than the starts within one."""
    metric = "cycle_ms" if speculative else "decode_tok_s"
    told: list[tuple[str, float, float]] = []
    for launch in launches:
        series = raw_series(launch, workload).get(metric)
        if series is None or len(series.values) < 2:
            continue
        steady = steadiness_of(series.values)
        told.append((launch.launch.id, steady.median, steady.robust_cv))
    if len(told) < 2:
        return None
    medians = [median for _, median, _ in told]
    log = math.log(max(medians) / min(medians))
    if math.expm1(log) <= floor or log <= APART * max(spread for *_, spread in told):
        return None
    each = ", ".join(f"{name} {median:.2f}" for name, median, _ in told)
    return Levels(
        log=log,
        runs=len(told),
        words=f"{metric} of {workload} by server run: {each}; within a run they spread by "
        f"{max(spread for *_, spread in told):.2%}",
    )
