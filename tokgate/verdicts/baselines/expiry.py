"""How old a stored baseline may become before it is doubted: rig key `baselines.expire_days`.

Age is counted from when the baseline was last stored or extended, which is when somebody last found it right, to when the
run's server started: the same run folder is judged the same on every later day.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tokgate.records.record import Record
from tokgate.rig.limits import BaselinesSpec
from tokgate.rig.models import Rig


class Expiry(Record):
    """A baseline past its time, or one whose age cannot be known."""

    words: str  # "it expired: 45 days old, good for 30"
    days: float | None  # None: one of both times is no time
    do: str


def expired(rig: Rig | None, stored: str, at: str | None) -> Expiry | None:
    """Return what is to be said of a baseline stored at `stored`, of a run at `at` (ISO 8601); None: nothing.

    Without a rig the default counts.
    """
    good_for = (rig.baselines if rig is not None else BaselinesSpec()).expire_days
    do = (
        f"measure on a quiet machine and store anew what holds: tokgate baseline propose RUN --why …; "
        f"[baselines] expire_days is {good_for:g}"
    )
    then = _time(stored)
    if then is None:
        return Expiry(words="nobody can tell how old it is, its `when` is no time", days=None, do=do)
    now = _time(at) if at is not None else None
    if now is None:
        return None
    days = (now - then).total_seconds() / 86_400
    if days <= good_for:
        return None
    return Expiry(words=f"it has expired, {days:.0f} days old and good for {good_for:g}", days=days, do=do)


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
