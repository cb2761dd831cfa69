"""A strip of bars, one per window of a launch: the slowest GPU's clock, or the host's load where there is no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import Window
from tokgate.verdicts.window import SLOWED

WIDTH = 240
HEIGHT = 24
_MOST_BARS = 240


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    kind: str  # a CSS class: "quiet", "hit" or "unknown"
    title: str


@dataclass(frozen=True)
class Strip:
    launch: str
    words: str  # what a full bar means
    bars: tuple[Bar, ...]


def strip_of(evidence: LaunchEvidence) -> Strip | None:
    """Return the strip of a launch; None when it was not watched or has no window."""
    if evidence.telemetry is None or not evidence.windows:
        return None
    windows = evidence.windows[:_MOST_BARS]
    if evidence.telemetry.gpus:
        values = [_slowest(w) for w in windows]
        full = max((v for v in values if v is not None), default=1.0)
        words = f"clock of the slowest GPU in each window, {full:.0f} MHz at the top"
    else:
        values, full = [w.host_busy for w in windows], 1.0
        words = "share of the host's cores that were busy in each window, all of them at the top"
    width = WIDTH / len(windows)
    bars = tuple(
        _bar(i * width, width, w, v, full) for i, (w, v) in enumerate(zip(windows, values, strict=True))
    )
    return Strip(evidence.launch.id, words, bars)


def strips(launches: Sequence[LaunchEvidence]) -> dict[str, Strip]:
    """Return the strips by launch."""
    found = (strip_of(launch) for launch in launches)
    return {strip.launch: strip for strip in found if strip is not None}


def _bar(x: float, width: float, window: Window, value: float | None, full: float) -> Bar:
    slowed = sorted({r for g in window.gpus for r in g.reasons or {} if r in SLOWED})
    strangers = window.strangers or ()
    kind = "hit" if slowed or strangers else "unknown" if value is None or window.unknown else "quiet"
    share = 1.0 if value is None or full <= 0 else min(1.0, max(0.0, value / full))
    height = round(max(1.0, share * HEIGHT), 2)
    return Bar(
        x=round(x, 2),
        y=round(HEIGHT - height, 2),
        width=round(max(0.5, width - 1), 2),
        height=height,
        kind=kind,
        title=", ".join(_said(window, value, slowed)),
    )


def _said(window: Window, value: float | None, slowed: Sequence[str]) -> list[str]:
    label = f"{window.workload} #{window.batch}{' (warm-up)' if window.warmup else ''}"
    if value is None:
        told = window.unknown or window.host_unknown or "unknown"
    elif window.gpus:
        told = f"{value:.0f} MHz"
    else:
        told = f"{value:.0%} busy"
    rest = [*slowed, *(f"pid {s.pid} computed too" for s in window.strangers or ())]
    unknown = [window.unknown] if window.unknown and value is not None else []
    return [f"{label}: {told}", *rest, *unknown]


def _slowest(window: Window) -> float | None:
    return min((g.sm_mhz.median for g in window.gpus if g.sm_mhz is not None), default=None)
