"""How many server runs and sessions a baseline is of, and what so many leave unknown."""

from __future__ import annotations

from .file import BaselineFile

SESSIONS = 3  # two degrees of freedom for how far they differ
RUNS = 2  # in each session, on average


def counted(stored: BaselineFile) -> str:
    """Return "7 server runs in 7 sessions"."""
    runs, sessions = len(stored.launches), len(stored.sessions)
    return f"{runs} server run{'' if runs == 1 else 's'} in {sessions} session{'' if sessions == 1 else 's'}"


def thin(stored: BaselineFile) -> str | None:
    """Say what is left to a prior for want of sessions, or of server runs in each; None: nothing is."""
    left = []
    if len(stored.sessions) < SESSIONS:
        left.append(f"how far sessions differ is left to a prior ({SESSIONS} of them tell it)")
    if len(stored.launches) < RUNS * len(stored.sessions):
        left.append(
            "how far server runs within a session differ is left to a prior "
            f"({RUNS} in each tell it: sampling.least_restarts = {RUNS - 1})"
        )
    return f"{counted(stored)}: {'; '.join(left)}" if left else None
