"""What stands on a progress display, in words: the same in a live one and in plain lines."""

from __future__ import annotations

from . import durations
from .progress_view import DECIDING, OVER, RESTARTS, View
from .visible import columns, fit, one_line


def where(view: View) -> str:
    """Return "02-eagle3-2step, launch 3 of 5"; "" between launches."""
    if view.launch is None:
        return ""
    number = f"restart {view.number}" if view.restart else f"launch {view.number} of {view.planned}"
    return f"{one_line(view.launch, 60)}{f', {number}' if view.number else ''}"


def doing(view: View) -> str:
    """Return "measuring conc8", or "nothing under way"."""
    workload = f" {one_line(view.workload, 40)}" if view.workload else ""
    return f"{view.stage}{workload}" if view.stage else "nothing under way"


def count(view: View) -> str:
    """Return "24/56", generations of this workload; beyond the plan "64"; "" where none are made."""
    if not view.of:
        return ""
    return f"{view.done}/{view.of}" if view.done <= view.of else str(view.done)


def rates(view: View) -> str:
    """Return "49.9 tok/s a stream, accept 1.88": speed and accept length of the last barrier start; "" before one."""
    told = []
    if view.tok_s is not None:
        told.append(f"{view.tok_s:.1f} tok/s{' a stream' if view.streams > 1 else ''}")
    if view.accept_length is not None:
        told.append(f"accept {view.accept_length:.2f}")
    if view.failed:
        told.append(f"{view.failed} FAILED")
    return ", ".join(told)


def judged(outcome: str, reason: str) -> str:
    """Return "INVALID  not clean session start: GPU 3 …"; whoever writes it wraps it, for what costs, and where, is no tail."""
    return f"{one_line(outcome, 20)}  {one_line(reason, 300)}"


def left(view: View, now: float) -> str:
    """Return "about 1 min 20 s left, restarts aside"; that it is not known where nothing says so."""
    if view.phase == DECIDING:
        return "restarts are being decided"
    if view.phase == OVER:
        return "no launch is left"
    if view.ends_at is None:
        return "time left unknown"
    seconds = view.ends_at - now
    about = "longer than reckoned" if seconds < 1 else f"about {durations.words(seconds)} left"
    if view.ends_by is not None and (most := view.ends_by - now) >= 1:
        about = f"about {durations.words(seconds)} to {durations.words(most)} left"
    if view.phase == RESTARTS:
        return f"{about}, {view.restarts} restart{'' if view.restarts == 1 else 's'}, more may follow"
    return f"{about}, restarts aside" if view.restarts else about


def packed(parts: list[str], width: int) -> list[str]:
    """Return the parts beside each other, on another line where there is no room left: of a narrow terminal none is cut off."""
    rows: list[str] = []
    for part in filter(None, parts):
        if rows and columns(rows[-1]) + 2 + columns(part) <= width:
            rows[-1] += f"  {part}"
        else:
            rows.append(fit(part, width))
    return rows
