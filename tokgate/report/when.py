"""When a session ran and how long it took, as a person reads it."""

from __future__ import annotations

from datetime import UTC, datetime

from .durations import words


def when(started: str, finished: str | None) -> str:
    """Return "2026-11-30 13:54:31 to 14:00:18 UTC, 5 min 47 s"; what is no time in ISO 8601 stays as it is."""
    try:
        begin = datetime.fromisoformat(started).astimezone(UTC)
        end = None if finished is None else datetime.fromisoformat(finished).astimezone(UTC)
    except (ValueError, OverflowError):
        return f"{started} to {finished}" if finished else started
    if end is None:
        return f"{begin:%Y-%m-%d %H:%M:%S} UTC, its end is not known"
    day = "" if end.date() == begin.date() else f"{end:%Y-%m-%d} "
    return f"{begin:%Y-%m-%d %H:%M:%S} to {day}{end:%H:%M:%S} UTC, {words((end - begin).total_seconds())}"
