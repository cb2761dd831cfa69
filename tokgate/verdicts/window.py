"""What telemetry has against a measured window: somebody else, heat, a hang, silence."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import GpuWindow, Stranger, Telemetry, Window
from tokgate.rig.models import Rig
from tokgate.stats.strangers import NAMES_NOBODY

from .clocks import uneven
from .shortfall import Shortfall

# Reasons why a card is slower than it should be. sw_power_cap is not among them: a card at its power limit under
# load is as fast as it was sold.
SLOWED = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
# A card that is all busy and draws less than this share of what it drew in good windows hangs in a kernel.
HANG_POWER = 0.5
ALL_BUSY_PERCENT = 95.0
# The share of a workload's windows that may be unknown; with more, those that are known do not speak for the others.
MOST_UNKNOWN = 0.5
_SHOWN = 160


def disturbed(launch: LaunchEvidence, workload: str) -> Iterable[Shortfall]:
    """Yield what makes the numbers of a workload worthless, warm-ups aside.

    A launch without telemetry has nothing to object to here; `unwatched` says whether it should have had some.
    Silence where GPUs were asked is one: neither strangers nor heat can be excluded then.
    """
    told = launch.telemetry
    windows = judged(launch, workload)
    if told is None or not told.gpus or not windows:
        return
    yield from _unseen(told, windows)
    yield from _strangers(launch, windows)
    yield from _slowed(windows)
    yield from uneven(windows)
    yield from _hanging(windows)


def unwatched(rig: Rig, launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield what is wrong where a rig with GPUs had a server, and its telemetry is missing or of another rig.

    A launch that is still being measured has none yet, and is invalid for that; a folder that was edited has none.
    """
    told, count = launch.telemetry, rig.gpus.count
    if not count or launch.server is None or (told is not None and told.gpus == count):
        return
    asked = "launch.json holds no telemetry" if told is None else f"the telemetry is of {told.gpus}"
    yield Shortfall(
        what=f"nobody watched the GPUs: the rig {rig.name} has {count}, {asked}",
        do="measure again: neither heat nor other processes can be excluded; a run folder is judged as it was written",
    )


def hazy(launch: LaunchEvidence, workload: str) -> tuple[str, ...]:
    """Return a warning for numbers that are judged although some of their windows are unknown."""
    windows = judged(launch, workload)
    unknown = _unknown(windows)
    if launch.telemetry is None or not launch.telemetry.gpus or not unknown:
        return ()
    where = f"{len(unknown)} of {len(windows)} windows of {workload} ({unknown[0]})"
    return (f"nobody watched the GPUs in {where}: neither heat nor other processes can be excluded there",)


def judged(launch: LaunchEvidence, workload: str) -> tuple[Window, ...]:
    return tuple(w for w in launch.windows if w.workload == workload and not w.warmup)


def _unseen(told: Telemetry, windows: Sequence[Window]) -> Iterable[Shortfall]:
    """Yield a shortfall where more windows are unknown than known: the rest cannot speak for them."""
    unknown = _unknown(windows)
    if len(unknown) <= MOST_UNKNOWN * len(windows):
        return
    because = f"; {told.problems[0]}" if told.problems else ""
    yield Shortfall(
        what=f"nobody watched the GPUs: nothing is known of them in {len(unknown)} of {len(windows)} windows of "
        f"{windows[0].workload}: {unknown[0]}{because}",
        do="run nvidia-smi on the host by hand; without it neither heat nor other processes can be excluded",
        evidence=told.problems[1:4],
    )


def _unknown(windows: Sequence[Window]) -> list[str]:
    """Return why of each window that is unknown: no rows for it, or a source of holders that fell silent."""
    told = [w.unknown or (None if w.gpus else "no row at all") or _silent(w) for w in windows]
    return [why for why in told if why is not None]


def _silent(window: Window) -> str | None:
    # A driver that names nobody, as in many containers, is a limit of the machine and a note.
    return window.strangers_unknown if window.strangers_unknown != NAMES_NOBODY else None


def _strangers(launch: LaunchEvidence, windows: Sequence[Window]) -> Iterable[Shortfall]:
    """Yield one shortfall per process. One that was there when the machine was found clean is told by the slate."""
    known = {(h.pid, h.start_ticks) for h in launch.slate.holders} if launch.slate else set()
    seen: dict[tuple[int, int | None], list[tuple[Window, Stranger]]] = {}
    for window in windows:
        for stranger in window.strangers or ():
            key = (stranger.pid, stranger.start_ticks)
            if key not in known:
                seen.setdefault(key, []).append((window, stranger))
    for where in seen.values():
        window, stranger = where[0]
        who = f"pid {stranger.pid} of {stranger.user or 'an unknown user'}"
        command = " ".join((stranger.command or "command unknown").split())[:_SHOWN]
        gpus = ", ".join(f"GPU {index}" for index in stranger.gpus) or "a GPU that is not in the list"
        yield Shortfall(
            what=f"somebody else computed on {gpus} meanwhile: {who} ({command}), in {len(where)} of "
            f"{len(windows)} windows, first seen {stranger.seen_after_s:.1f} s into start {window.batch} of "
            f"{window.workload}",
            do="ask its owner, or end it by hand, and measure again; the gate ends only what it started itself",
            evidence=tuple(
                line
                for line in (
                    None if stranger.used_mib is None else f"it held {stranger.used_mib:.0f} MiB",
                    stranger.note,
                )
                if line is not None
            ),
        )


def _slowed(windows: Sequence[Window]) -> Iterable[Shortfall]:
    """Yield one shortfall for all windows in which a card was held back, with the clocks that tell how much."""
    hit = [
        (window, gpu, reason)
        for window in windows
        for gpu in window.gpus
        for reason in SLOWED
        if (gpu.reasons or {}).get(reason)
    ]
    if not hit:
        return
    # The one that shows most; a window in which it only began may have its usual clock for a median.
    window, gpu, _ = min(hit, key=lambda h: h[1].sm_mhz.median if h[1].sm_mhz is not None else math.inf)
    indexes = sorted({g.index for _, g, _ in hit})
    starts = list(dict.fromkeys(w.batch for w, _, _ in hit))
    reasons = ", ".join(dict.fromkeys(reason for _, _, reason in hit))
    cards = f"{len(indexes)} GPUs" if len(indexes) > 1 else f"GPU {indexes[0]}"
    yield Shortfall(
        what=f"{cards} slowed down in {len(starts)} of {len(windows)} windows of {window.workload} ({reasons}): "
        f"{_clocks(windows, window, gpu)}",
        do="look at cooling, power supply and neighbours (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER), let the "
        "cards cool, measure again",
        evidence=tuple(_line(w, g, r) for w, g, r in hit[:8]),
    )


def _clocks(windows: Sequence[Window], window: Window, gpu: GpuWindow) -> str:
    """Return the card's clock in the window and, where there is one, in the last window before it was held back."""
    now = "clock unknown" if gpu.sm_mhz is None else f"GPU {gpu.index} ran at {gpu.sm_mhz.median:.0f} MHz"
    heat = "" if gpu.celsius_max is None else f" and {gpu.celsius_max:.0f} °C"
    before = [
        g.sm_mhz.median
        for w in windows
        if w.start_ns < window.start_ns
        for g in w.gpus
        if g.index == gpu.index and g.sm_mhz is not None and not any(r in (g.reasons or {}) for r in SLOWED)
    ]
    after = f", {before[-1]:.0f} MHz before" if before else ", from the first window on"
    return f"{now}{heat}{after}"


def _line(window: Window, gpu: GpuWindow, reason: str) -> str:
    count = (gpu.reasons or {})[reason]
    clock = "" if gpu.sm_mhz is None else f", {gpu.sm_mhz.minimum:.0f} to {gpu.sm_mhz.maximum:.0f} MHz"
    heat = "" if gpu.celsius_max is None else f", {gpu.celsius_max:.0f} °C"
    return f"start {window.batch}, GPU {gpu.index}: {reason} in {count} of {gpu.rows} rows{clock}{heat}"


def _hanging(windows: Sequence[Window]) -> Iterable[Shortfall]:
    """Yield what the power draw says of windows in which a generation failed."""
    usual = {
        index: statistics.median(drawn) for index, drawn in _drawn(w for w in windows if not w.failed).items()
    }
    for window in windows:
        if not window.failed:
            continue
        hung = [
            g
            for g in window.gpus
            if g.watts_last is not None
            and (g.busy_percent_last or 0.0) >= ALL_BUSY_PERCENT
            and g.watts_last < HANG_POWER * usual.get(g.index, 0.0)
        ]
        if hung:
            first = hung[0]
            yield Shortfall(
                what=f"the power draw of start {window.batch} says hang: {len(hung)} GPUs all busy at "
                f"{first.watts_last:.0f} W (GPU {first.index}), {usual[first.index]:.0f} W in good windows",
                do="look for a kernel that spins: py-spy dump of the schedulers, NCCL's watchdog, the server's log",
            )


def _drawn(windows: Iterable[Window]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for window in windows:
        for gpu in window.gpus:
            if gpu.watts_mean is not None:
                found.setdefault(gpu.index, []).append(gpu.watts_mean)
    return found
