"""Where the seconds of a session went, kept in its line of the history: the next plan is reckoned from it."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import defaultdict

from tokgate.records import LaunchEvidence, RunEvidence
from tokgate.records.record import Record


class StartSpent(Record):
    """One barrier start of a workload, the median of a launch's."""

    seconds: float
    tokens: int  # asked of each stream


class LaunchSpent(Record):
    wall_s: float  # from the first look at the machine until the server was gone
    rest_s: (
        float  # of it outside every barrier start: clean slate, start, stop, and whatever lies between starts
    )
    starts: dict[str, StartSpent] = {}  # workload -> one of its starts


class SessionSpent(Record):
    launches: dict[str, LaunchSpent]
    besides_s: float | None = None  # outside of every launch; None: the session has no end


def spent_of(run: RunEvidence) -> SessionSpent | None:
    """Return where the seconds went; None where no launch came to its end."""
    launches = {
        e.launch.id: found for e in run.launches if e.failure is None and (found := _launch(e)) is not None
    }
    if not launches:
        return None
    elapsed = _elapsed(run)
    walls = [e.wall_s for e in run.launches]
    known = elapsed is not None and None not in walls
    besides = (
        elapsed - math.fsum(w for w in walls if w is not None) if elapsed is not None and known else None
    )
    return SessionSpent(launches=launches, besides_s=None if besides is None else max(0.0, round(besides, 1)))


def _launch(evidence: LaunchEvidence) -> LaunchSpent | None:
    if evidence.wall_s is None or evidence.faults or evidence.server is None:
        return None  # without a server, on an unclean machine say, it took no time that tells anything
    begun: dict[tuple[str, int], int] = {}
    ended: dict[tuple[str, int], int] = {}
    tokens: dict[str, int] = {}
    for g in evidence.generations:
        if not g.good or g.end_ns is None:
            return None  # a start that failed took another time than one that did not
        key = g.workload, g.batch
        begun[key] = min(g.sent_ns, begun.get(key, g.sent_ns))
        ended[key] = max(g.end_ns, ended.get(key, g.end_ns))
        tokens[g.workload] = g.asked_tokens
    took: dict[str, list[float]] = defaultdict(list)
    for key, first in begun.items():
        took[key[0]].append((ended[key] - first) / 1e9)
    taking = math.fsum(math.fsum(seconds) for seconds in took.values())
    return LaunchSpent(
        wall_s=round(evidence.wall_s, 2),
        rest_s=round(max(0.0, evidence.wall_s - taking), 2),
        starts={
            name: StartSpent(seconds=round(statistics.median(seconds), 3), tokens=tokens[name])
            for name, seconds in took.items()
        },
    )


def _elapsed(run: RunEvidence) -> float | None:
    if run.info.finished_at is None:
        return None
    try:
        first, last = (dt.datetime.fromisoformat(t) for t in (run.info.started_at, run.info.finished_at))
        return (last - first).total_seconds()
    except (ValueError, TypeError):
        return None
