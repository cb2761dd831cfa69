"""What the machine did while it was measured, per launch and workload: for verdict.json, a table and one line."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from tokgate.records import LaunchEvidence, Record, RunEvidence
from tokgate.records.telemetry import GpuWindow, Spread, Window
from tokgate.verdicts.window import SLOWED
from tokgate.verdicts.window_notes import notes

from . import figures
from .visible import one_line


class WatchedWorkload(Record):
    """All windows of one workload but its warm-ups, and all GPUs. Null: no row told it."""

    workload: str
    windows: int
    unknown: int = Field(description="windows whose rows do not tell what the GPUs did")
    sm_mhz: Spread | None = Field(description="lowest, median of the medians, highest clock of any GPU")
    celsius_max: float | None
    watts_mean: float | None = Field(description="of one GPU")
    reasons: dict[str, int] = Field(description="clock event reason -> windows in which it was active")
    strangers: tuple[int, ...] | None = Field(
        description="pids of compute processes that were not the server's; null: cannot be told"
    )
    host_busy: float | None = Field(description="share of all cores, 0 to 1")
    host_steal: float | None
    load1: float | None


class WatchedLaunch(Record):
    launch: str
    source: Literal["nvml", "nvidia-smi", "none"] = Field(description="of what is known of GPUs")
    gpus: int = Field(description="that the rig says")
    hz: float | None = Field(description="rows a second that came: of the GPUs, or of the host without any")
    cpu_share: float | None = Field(description="what the watching cost, of one core")
    workloads: tuple[WatchedWorkload, ...]
    notes: tuple[str, ...]


def watched_launches(evidence: RunEvidence) -> tuple[WatchedLaunch, ...]:
    """Return every launch that was watched."""
    found = (_launch(launch) for launch in evidence.launches)
    return tuple(watched for watched in found if watched is not None)


def line_of(watched: WatchedLaunch) -> str:
    """Return a launch in one line: the worst of its workloads."""
    clocks = [w.sm_mhz for w in watched.workloads if w.sm_mhz is not None]
    hot = [w.celsius_max for w in watched.workloads if w.celsius_max is not None]
    watts = [w.watts_mean for w in watched.workloads if w.watts_mean is not None]
    busy = [w.host_busy for w in watched.workloads if w.host_busy is not None]
    parts = []
    if watched.gpus:
        parts.append(
            f"SM clock {figures.number(min(c.minimum for c in clocks))} to "
            f"{figures.number(max(c.maximum for c in clocks))} MHz"
            if clocks
            else "clocks unknown"
        )
        parts += [f"at most {max(hot):.0f} °C"] if hot else []
        parts += [f"{statistics.fmean(watts):.0f} W a GPU"] if watts else []
        slowed = sorted({r for w in watched.workloads for r in w.reasons if r in SLOWED})
        parts += [f"held back by {' and '.join(slowed)}"] if slowed else []
        others = sorted({pid for w in watched.workloads for pid in w.strangers or ()})
        parts += [f"other processes: pid {' '.join(map(str, others))}"] if others else []
    parts.append(f"host {max(busy):.0%} busy" if busy else "host load unknown")
    parts.append(f"{watched.hz:.1f} rows/s" if watched.hz is not None else "no rows")
    line = ", ".join(parts)
    return f"{line}; {'; '.join(one_line(n, 200) for n in watched.notes[:3])}" if watched.notes else line


def _launch(evidence: LaunchEvidence) -> WatchedLaunch | None:
    told = evidence.telemetry
    if told is None:
        return None
    judged = [w for w in evidence.windows if not w.warmup]
    return WatchedLaunch(
        launch=evidence.launch.id,
        source=told.source,
        gpus=told.gpus,
        hz=told.hz.get("gpus" if told.gpus else "host"),
        cpu_share=told.cpu_s / told.wall_s if told.cpu_s is not None and told.wall_s else None,
        workloads=tuple(
            _workload(name, [w for w in judged if w.workload == name])
            for name in dict.fromkeys(w.workload for w in judged)
        ),
        notes=notes(evidence),
    )


def _workload(name: str, windows: Sequence[Window]) -> WatchedWorkload:
    gpus = [gpu for window in windows for gpu in window.gpus]
    told = [w.strangers for w in windows if w.strangers is not None]
    return WatchedWorkload(
        workload=name,
        windows=len(windows),
        unknown=sum(w.unknown is not None for w in windows),
        sm_mhz=_clocks(gpus),
        celsius_max=max((g.celsius_max for g in gpus if g.celsius_max is not None), default=None),
        watts_mean=_mean(g.watts_mean for g in gpus),
        reasons=dict(Counter(r for w in windows for r in {r for g in w.gpus for r in g.reasons or {}})),
        # One window that cannot be told is enough not to say "nobody"; one that has somebody is enough to say who.
        strangers=tuple(sorted({s.pid for found in told for s in found}))
        if any(told) or len(told) == len(windows)
        else None,
        host_busy=_mean(w.host_busy for w in windows),
        host_steal=max((w.host_steal for w in windows if w.host_steal is not None), default=None),
        load1=max((w.load1 for w in windows if w.load1 is not None), default=None),
    )


def _clocks(gpus: Sequence[GpuWindow]) -> Spread | None:
    clocks = [g.sm_mhz for g in gpus if g.sm_mhz is not None]
    if not clocks:
        return None
    return Spread(
        minimum=min(c.minimum for c in clocks),
        median=statistics.median(c.median for c in clocks),
        maximum=max(c.maximum for c in clocks),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return statistics.fmean(known) if known else None
