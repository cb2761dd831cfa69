"""The history of a rig's runs: one entry a session, so that a level that moved is seen though no session called it.

A history informs: nothing is judged by it, and whoever deletes it loses no baseline. Medians alone are kept, since the
run folders have the rest.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, FiniteFloat

from tokgate.errors import BaselineError
from tokgate.records import Fingerprint, Outcome, RunEvidence, Verdict
from tokgate.records.record import Record
from tokgate.records.verdict import worst
from tokgate.rig.models import Rig
from tokgate.stats.change_points import ChangePoint, change_points
from tokgate.stats.levels import PRIOR_SHARE
from tokgate.verdicts.establish import Established, establish_workload
from tokgate.verdicts.metrics import METRICS, Metric, stored_floor_of
from tokgate.verdicts.side_words import labels

from .file import HASH_DIGITS
from .identity import identity_hash, identity_of_launch
from .spent import SessionSpent, spent_of

CHECK = "history"
# A lasting change of half a floor is worth seeing: no single session would call it.
LEAST_FLOORS = 0.5
# Sessions of one identity that a change of level is looked for in, the latest: years of nightly ones. What lies further
# back informs nobody, and the search takes the square of their number.
LATEST = 500

Median = Annotated[FiniteFloat, Field(ge=1e-12, le=1e12)]


class Measured(Record):
    """One arm under one workload in one session."""

    arm: str
    workload: str
    identity: str  # the first digits of its hash, as in the name of a baseline
    outcome: Outcome | None  # the worst of the verdicts on it; None: nothing was judged
    launches: dict[str, dict[str, Median]]  # server run -> metric -> median of its barrier starts


class Entry(Record):
    """One session, one line of the history."""

    schema_number: Literal[1] = 1
    run_id: str
    rig: str
    simulated: bool
    started_at: str  # ISO 8601, UTC
    outcome: Outcome
    commit: str | None  # what the session ran from: RunInfo.commit
    sglang: str | None  # its commit, or its version; with "+HASH" where its tree is edited
    fingerprint: str | None  # the first digits of a hash of all facts of machine and software
    series: tuple[Measured, ...]
    change: str | None = (
        None  # to SGLang, of which the numbers are the head's: "head 1a2b3c against base main"
    )
    spent: SessionSpent | None = (
        None  # where its seconds went: the plan of the next session is reckoned from it
    )


class Session(NamedTuple):
    """What one session measured of an arm under a workload."""

    entry: Entry
    measured: Measured


class Point(Record):
    """What one session measured of one metric."""

    run_id: str
    started_at: str
    value: float  # in the metric's unit: the mean of its server runs, on the metric's scale
    runs: int
    outcome: Outcome | None
    fingerprint: str | None
    sglang: str | None
    change: str | None = None  # as of an Entry


class Standing(Record):
    """A level that has stood since some session."""

    metric: str
    since: Point
    change: ChangePoint

    @property
    def words(self) -> str:
        """Return "it has stood 5.1 % lower since run 2026… of 2026-11-20 (84.2 tok/s in 4 sessions, 88.8 in 12 before)"."""
        metric, moved = METRICS[self.metric], self.change
        return (
            f"{metric.words} has stood {abs(moved.change) * 100:.1f} % {'lower' if moved.change < 0 else 'higher'} since run "
            f"{self.since.run_id} of {self.since.started_at[:10]} ({metric.text(moved.after)} in {moved.n_after} sessions, "
            f"{metric.bare(moved.before)} in the {moved.n_before} before)"
        )


def entry_of(rig: Rig, run: RunEvidence, verdicts: Sequence[Verdict]) -> Entry | None:
    """Return the line of a session; None of one that measured no arm, or nothing that may be judged."""
    series = []
    for arm in rig.arms:
        launches = [e for e in run.launches if e.launch.arm == arm.name and e.launch.stands_for_arm]
        for workload in rig.workloads:
            found: dict[str, dict[str, float]] = {}
            identity = None
            for launch in launches:
                established = establish_workload(rig, launch, workload.name, check=CHECK)
                if not isinstance(established, Established):
                    continue
                try:
                    own = identity_of_launch(rig, launch, workload.name, run.fingerprint)
                except BaselineError:
                    continue  # without an identity it is comparable with nothing
                if identity is not None and own != identity:
                    continue  # the server was updated in between
                identity = own
                found[launch.launch.id] = {
                    name: statistics.median(one.values) for name, one in sorted(established.series.items())
                }
            if identity is not None:
                series.append(
                    Measured(
                        arm=arm.name,
                        workload=workload.name,
                        identity=identity_hash(identity)[:HASH_DIGITS],
                        outcome=_outcome(verdicts, arm.name, workload.name),
                        launches=found,
                    )
                )
    if not series:
        return None
    return Entry(
        run_id=run.info.run_id,
        rig=rig.name,
        simulated=rig.simulated,
        started_at=run.info.started_at,
        outcome=worst(v.outcome for v in verdicts),
        commit=run.info.commit,
        sglang=_sglang(run),
        fingerprint=_digest(run.fingerprint),
        series=tuple(series),
        change=_change(rig, run),
        spent=spent_of(run),
    )


def sessions_of(entries: Sequence[Entry], arm: str, workload: str, identity: str) -> list[Session]:
    """Return the sessions that measured an arm under a workload of one identity, in order of time, each once."""
    found = {
        entry.run_id: Session(entry, one)  # of a session that was written twice the later line counts
        for entry in entries
        for one in entry.series
        if (one.arm, one.workload, one.identity) == (arm, workload, identity)
    }
    return sorted(found.values(), key=lambda session: (session.entry.started_at, session.entry.run_id))


def points(sessions: Sequence[Session], metric: Metric) -> list[Point]:
    """Return what sessions measured of one metric, those that know it."""
    found = []
    for entry, one in sessions:
        values = [medians[metric.name] for medians in one.launches.values() if metric.name in medians]
        if values:
            found.append(
                Point(
                    run_id=entry.run_id,
                    started_at=entry.started_at,
                    value=_middle(values, metric),
                    runs=len(values),
                    outcome=one.outcome,
                    fingerprint=entry.fingerprint,
                    sglang=entry.sglang,
                    change=entry.change,
                )
            )
    return found


def standings(rig: Rig | None, metric: Metric, series: Sequence[Point]) -> tuple[Standing, ...]:
    """Return every change of level, oldest first, of the LATEST sessions that were fit to be judged.

    Sessions on a change of SGLang are none of them: what was tried and may never have merged is no level.
    `rig` has floors of its own; without it the table's count.
    """
    fit = [point for point in series if point.outcome is not Outcome.INVALID and point.change is None]
    fit = fit[-LATEST:]
    floor = stored_floor_of(rig, metric).relative if rig is not None else metric.relative_floor
    found = change_points(
        [point.value for point in fit], prior_sd=PRIOR_SHARE * floor, least=LEAST_FLOORS * floor
    )
    return tuple(Standing(metric=metric.name, since=fit[one.at], change=one) for one in found)


def with_history(
    rig: Rig, verdicts: Sequence[Verdict], entries: Sequence[Entry], *, identity: str, now: Point
) -> tuple[Verdict, ...]:
    """Return verdicts on stored numbers with what the history says of each: since when it has stood where it stands.

    `now`: this session, without its value, which each verdict has.
    """
    told = []
    earlier = [entry for entry in entries if entry.run_id != now.run_id]
    sessions: dict[tuple[str, str], list[Session]] = {}  # a dozen metrics are of one place
    for verdict in verdicts:
        metric = METRICS.get(verdict.metric or "")
        if metric is None or not verdict.value or verdict.arm is None or verdict.workload is None:
            told.append(verdict)
            continue
        place = verdict.arm, verdict.workload
        if place not in sessions:
            sessions[place] = [
                one
                for one in sessions_of(earlier, *place, identity)
                if one.measured.outcome is not Outcome.INVALID and one.entry.change is None
            ][-LATEST:]
        series = points(sessions[place], metric)
        series.append(now.model_copy(update={"value": verdict.value}))
        found = standings(rig, metric, series)
        told.append(
            verdict.model_copy(update={"evidence": (*verdict.evidence, f"history: {found[-1].words}")})
            if found
            else verdict
        )
    return tuple(told)


def _outcome(verdicts: Sequence[Verdict], arm: str, workload: str) -> Outcome | None:
    mine = [v.outcome for v in verdicts if v.arm == arm and v.workload in (workload, None)]
    return worst(mine) if mine else None


def _middle(values: Sequence[float], metric: Metric) -> float:
    if metric.scale == "ratio":
        return math.exp(statistics.fmean(math.log(value) for value in values))
    return statistics.fmean(values)


def _change(rig: Rig, run: RunEvidence) -> str | None:
    if rig.sides is None:
        return None
    head, base = labels(run.sides)
    return f"{head} against {base}"


def _sglang(run: RunEvidence) -> str | None:
    facts = run.fingerprint.facts if run.fingerprint is not None else {}
    name, edits = facts.get("sglang.commit") or facts.get("sglang.version"), facts.get("sglang.dirty")
    return name if name is None or edits in (None, "no") else f"{name}+{edits}"


def _digest(fingerprint: Fingerprint | None) -> str | None:
    if fingerprint is None:
        return None
    facts = json.dumps(dict(fingerprint.facts), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(facts.encode("ascii")).hexdigest()[:HASH_DIGITS]
