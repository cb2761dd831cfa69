"""What the rows of telemetry say about each measured window.

A window is one barrier start, from its first request to its last byte: generations that start together share
the machine and its moment.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tokgate.records import Generation
from tokgate.records.telemetry import (
    REASONS,
    GpuNow,
    GpuRow,
    GpuWindow,
    HolderRow,
    HostRow,
    ProcessRow,
    Spread,
    TelemetryRow,
    Window,
)

from .strangers import Strangers

# A window with a longer time without a row is unknown: clocks fall and come back within a second.
LONGEST_GAP_S = 1.0
# A row that came this much later than the fastest one may belong to another window than the one it fell into.
LATEST_S = 1.0
NS = 1_000_000_000


def windows_of(
    generations: Iterable[Generation], rows: Iterable[TelemetryRow], *, gpus: int
) -> tuple[Window, ...]:
    """Return one window per barrier start, in the order of time. `gpus`: how many the rig has."""
    rows = sorted(rows, key=lambda row: row.at_ns)
    of_gpus = [row for row in rows if isinstance(row, GpuRow)]
    of_host = [row for row in rows if isinstance(row, HostRow)]
    strangers = Strangers(
        [row for row in rows if isinstance(row, HolderRow)],
        [row for row in rows if isinstance(row, ProcessRow)],
    )
    quickest = _quickest(of_gpus)
    windows = []
    for (workload, batch, warmup), together in _starts(generations).items():
        start = min(g.sent_ns for g in together)
        # Stamps edited by hand may end before they begin; what is judged then is a moment.
        end = max(start, *(_end(g) for g in together))
        window = Window(
            workload=workload,
            batch=batch,
            warmup=warmup,
            failed=any(not g.good for g in together),
            start_ns=start,
            end_ns=end,
            **_host(of_host, start, end),
        )
        if gpus:
            inside = _inside(of_gpus, start, end)
            gap_s = longest_gap_s([row.at_ns for row in of_gpus], start, end)
            found, why = strangers.during(start, end)
            window = window.model_copy(
                update={
                    "gpus": _gpus(inside),
                    "gap_s": gap_s,
                    "unknown": _unknown(inside, gap_s, quickest, gpus) if of_gpus else "no row at all",
                    "strangers": found,
                    "strangers_unknown": why,
                }
            )
        windows.append(window)
    return tuple(sorted(windows, key=lambda w: w.start_ns))


def longest_gap_s(stamps: Sequence[int], start: int, end: int) -> float | None:
    """Return the longest time between neighbours among `stamps` (sorted) that reaches into the window.

    The last one before it and the first one after it count; None where there is no such row.
    """
    first, beyond = bisect_right(stamps, start) - 1, bisect_left(stamps, end)
    if first < 0 or beyond >= len(stamps):
        return None
    enclosing = stamps[first : beyond + 1]
    return max((b - a for a, b in pairwise(enclosing)), default=0) / NS


def _starts(generations: Iterable[Generation]) -> dict[tuple[str, int, bool], list[Generation]]:
    found: dict[tuple[str, int, bool], list[Generation]] = {}
    for g in generations:
        found.setdefault((g.workload, g.batch, g.warmup), []).append(g)
    return found


def _end(g: Generation) -> int:
    """Return when it ended; a failed one may have no end but what was last seen of it."""
    return g.end_ns or (g.chunk_ns[-1] if g.chunk_ns else None) or g.first_byte_ns or g.sent_ns


def _inside(rows: Sequence[GpuRow], start: int, end: int) -> Sequence[GpuRow]:
    """Return the rows of the window; of one that is shorter than the period, the two that enclose it.

    Two that lie further apart than LONGEST_GAP_S are not lent: the last row of a source that fell silent would else
    speak for every window after it.
    """
    first, beyond = bisect_left(rows, start, key=_at), bisect_right(rows, end, key=_at)
    if first < beyond or first == 0 or beyond == len(rows):
        return rows[first:beyond]
    around = rows[first - 1 : beyond + 1]
    return around if around[-1].at_ns - around[0].at_ns <= LONGEST_GAP_S * NS else ()


def _at(row: GpuRow | HostRow) -> int:
    return row.at_ns


def _quickest(rows: Sequence[GpuRow]) -> float | None:
    """Return the smallest difference between arrival and the host's own clock, seconds."""
    return min((row.at_ns / NS - row.host_s for row in rows if row.host_s is not None), default=None)


def _unknown(inside: Sequence[GpuRow], gap_s: float | None, quickest: float | None, gpus: int) -> str | None:
    if gap_s is None:
        return "the rows begin after its start or end before its end"
    if gap_s > LONGEST_GAP_S:
        return f"{gap_s:.1f} s without a row"
    if quickest is not None:
        late = max((r.at_ns / NS - r.host_s - quickest for r in inside if r.host_s is not None), default=0.0)
        if late > LATEST_S:
            return f"rows came up to {late:.1f} s late"
    fewest = min(len({gpu.gpu for gpu in row.gpus}) for row in inside)
    if fewest < gpus:
        return f"a row tells of {fewest} GPUs, the rig has {gpus}"
    return None


def _gpus(inside: Sequence[GpuRow]) -> tuple[GpuWindow, ...]:
    by_index: dict[int, list[GpuNow]] = {}
    for row in inside:
        for gpu in row.gpus:
            by_index.setdefault(gpu.gpu, []).append(gpu)
    return tuple(_gpu(index, told) for index, told in sorted(by_index.items()))


def _gpu(index: int, told: Sequence[GpuNow]) -> GpuWindow:
    clocks = [g.sm_mhz for g in told if g.sm_mhz is not None]
    celsius = [g.celsius for g in told if g.celsius is not None]
    watts = [g.watts for g in told if g.watts is not None]
    busy = [g.busy_percent for g in told if g.busy_percent is not None]
    masks = [g.reasons for g in told if g.reasons is not None]
    reasons = {name: sum(bool(mask & bit) for mask in masks) for bit, name in REASONS.items()}
    return GpuWindow(
        index=index,
        rows=len(told),
        sm_mhz=Spread(minimum=min(clocks), median=statistics.median(clocks), maximum=max(clocks))
        if clocks
        else None,
        celsius_max=max(celsius, default=None),
        watts_mean=_mean(watts),
        busy_percent_mean=_mean(busy),
        watts_last=watts[-1] if watts else None,
        busy_percent_last=busy[-1] if busy else None,
        reasons={name: count for name, count in reasons.items() if count} if masks else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _host(rows: Sequence[HostRow], start: int, end: int) -> dict[str, object]:
    """Return the host's part of a window: shares between the last row before it and the first one after it."""
    first, beyond = bisect_right(rows, start, key=_at) - 1, bisect_left(rows, end, key=_at)
    if first < 0 or beyond >= len(rows):
        return {"host_unknown": "no rows around it" if rows else "no row at all"}
    around = rows[first : beyond + 1]
    gap_s = longest_gap_s([row.at_ns for row in around], start, end)
    if gap_s is not None and gap_s > LONGEST_GAP_S:
        return {"host_unknown": f"{gap_s:.1f} s without a row"}
    load1 = max((row.load1 for row in around if row.load1 is not None), default=None)
    before, after = around[0], around[-1]
    total = _grown(before.total, after.total)
    if not total:
        return {"load1": load1, "host_unknown": "the host's /proc/stat tells nothing"}
    busy, steal = _grown(before.busy, after.busy), _grown(before.steal, after.steal)
    return {
        "load1": load1,
        "host_busy": None if busy is None else min(1.0, busy / total),
        "host_steal": None if steal is None else min(1.0, steal / total),
    }


def _grown(before: int | None, after: int | None) -> int | None:
    # The kernel's counters may step back by a tick.
    return None if before is None or after is None else max(0, after - before)
