"""Seconds as people say them."""

from __future__ import annotations

_MINUTE, _HOUR = 60, 3600


def words(seconds: float) -> str:
    """Return "8 s", "1 min 56 s", "41 min" or "2 h 05 min": as much as is worth knowing."""
    whole = round(max(seconds, 0.0))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < 10 * _MINUTE:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    minutes = round(whole / _MINUTE)
    return f"{minutes} min" if whole < _HOUR else f"{minutes // 60} h {minutes % 60:02d} min"


def clock(seconds: float) -> str:
    """Return "0:07", "12:34" or "1:02:03"."""
    whole = int(max(seconds, 0.0))
    hours, minutes = divmod(whole // _MINUTE, 60)
    return f"{hours}:{minutes:02d}:{whole % _MINUTE:02d}" if hours else f"{minutes}:{whole % _MINUTE:02d}"


def gpu_minutes(seconds: float) -> str:
    """Return GPU-seconds as "0.4", "15" or "2,130" GPU-minutes."""
    minutes = seconds / _MINUTE
    return f"{minutes:,.0f}" if minutes >= 10 else f"{minutes:.1f}"
