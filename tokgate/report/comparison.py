"""Two stored runs beside each other: what differs in settings and facts, then what each arm's change is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import Field

from tokgate.errors import BaselineError, UsageError
from tokgate.records import Difference, Record, RunEvidence
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.identity import differences, identity_of_launch
from tokgate.verdicts.baselines.staleness import staleness
from tokgate.verdicts.cycle_side import Side, carried, side_of_run
from tokgate.verdicts.metrics import METRICS, floor_of
from tokgate.verdicts.split import Split, split_change

from .phase_change import PhasesMoved, phases_moved


class Given(NamedTuple):
    """A run as it was read."""

    path: str
    evidence: RunEvidence
    rig: Rig


class RunNamed(Record):
    path: str
    run_id: str
    rig: str
    started_at: str
    tokgate_version: str


class SettingsDiffer(Record):
    """What must be equal for two measurements to be compared, and is not."""

    arm: str
    workload: str
    differs: tuple[Difference, ...]


class NotCompared(Record):
    arm: str
    workload: str | None = None  # None: none of them
    why: str


class Comparison(Record):
    """`tokgate compare A B --json`. Unknown is null, never 0 or an empty text."""

    schema_number: Literal[1] = 1
    simulated: bool = Field(description="both runs are of a simulated machine; one of each is never compared")
    before: RunNamed
    after: RunNamed
    settings: tuple[SettingsDiffer, ...] = Field(
        description="where there is any, the numbers are of different things"
    )
    facts: tuple[Difference, ...] = Field(description="of machine and software: they inform")
    changes: tuple[Split, ...]
    phases: tuple[PhasesMoved, ...] = Field(
        (), description="of arms that carried instruments in both runs, and were not timed in both"
    )
    not_compared: tuple[NotCompared, ...] = ()


def compare_runs(
    before: Given, after: Given, *, arm: str | None = None, workload: str | None = None
) -> Comparison:
    """Compare what both runs measured of the same arm and workload, by their names in the rigs.

    UsageError: one is simulated and the other is not, `arm` or `workload` is none that both have, or they have
    nothing in common at all. What both have and one cannot be judged by is `not_compared`, with the reason.
    """
    tried = f"comparing {before.path} with {after.path}"
    _refuse_mixture(tried, before, after)
    arms = _common(tried, "arm", arm, _arms(before), _arms(after))
    workloads = _common(tried, "workload", workload, _workloads(before), _workloads(after))
    labels = (before.evidence.info.run_id, after.evidence.info.run_id)
    labels = labels if labels[0] != labels[1] else ("A", "B")
    settings, changes, phases, not_compared = [], [], [], list(_missing(before, after, arm))
    for name in arms:
        for load in workloads:
            differs = _settings(before, after, name, load)
            if isinstance(differs, str):
                not_compared.append(NotCompared(arm=name, workload=load, why=differs))
                continue
            if differs:
                settings.append(SettingsDiffer(arm=name, workload=load, differs=differs))
            found = _compared(before, after, name, load, labels=labels)
            if isinstance(found, Split):
                changes.append(found)
            elif isinstance(found, PhasesMoved):
                phases.append(found)
            else:
                not_compared.append(NotCompared(arm=name, workload=load, why=found))
    return Comparison(
        simulated=before.rig.simulated,
        before=_named(before),
        after=_named(after),
        settings=tuple(settings),
        facts=staleness(after.rig, before.evidence.fingerprint, after.evidence.fingerprint).differs,
        changes=tuple(changes),
        phases=tuple(phases),
        not_compared=tuple(not_compared),
    )


def shared_settings(comparison: Comparison) -> tuple[Difference, ...]:
    """Return the settings that differ alike for every arm and workload: told once."""
    every = [one.differs for one in comparison.settings]
    return tuple(d for d in every[0] if all(d in others for others in every)) if every else ()


def _compared(
    before: Given, after: Given, arm: str, workload: str, *, labels: tuple[str, str]
) -> Split | PhasesMoved | str:
    """Split the change of what was timed; of an arm that both measured with instruments alone, compare the phases."""
    if all(arm in _timed(given) for given in (before, after)):
        return _split(before, after, arm, workload, labels=labels)
    mine, theirs = ((given.rig, given.evidence) for given in (before, after))
    return phases_moved(mine, theirs, arm, workload, labels=labels)


def _split(before: Given, after: Given, arm: str, workload: str, *, labels: tuple[str, str]) -> Split | str:
    sides: list[Side] = []
    for given, label in zip((before, after), labels, strict=True):
        side = side_of_run(given.rig, given.evidence, arm, workload, label=label)
        if isinstance(side, str):
            return f"{label}: {side}"
        sides.append(side)
    return split_change(arm, workload, *sides, floor=floor_of(after.rig, METRICS["decode_tok_s"]))


def _settings(before: Given, after: Given, arm: str, workload: str) -> tuple[Difference, ...] | str:
    found = []
    for given in (before, after):
        timed = [e for e in given.evidence.launches if e.launch.arm == arm and e.launch.stands_for_arm]
        launch = (timed or carried(given.evidence, arm))[0]
        try:
            found.append(identity_of_launch(given.rig, launch, workload, given.evidence.fingerprint))
        except BaselineError as error:
            return f"{given.evidence.info.run_id}: {error.found}"
    return differences(*found)


def _refuse_mixture(tried: str, before: Given, after: Given) -> None:
    if before.rig.simulated != after.rig.simulated:
        simulated, real = (before, after) if before.rig.simulated else (after, before)
        raise UsageError(
            tried=tried,
            found=f"{simulated.path} is of a simulated machine, {real.path} of a real one",
            do="compare runs of one kind: a simulated number says nothing about a real machine",
        )


def _arms(given: Given) -> tuple[str, ...]:
    """Return the arms that were timed, or carried instruments."""
    return tuple(a.name for a in given.rig.arms if a.name in _timed(given) or carried(given.evidence, a.name))


def _timed(given: Given) -> set[str]:
    return {e.launch.arm for e in given.evidence.launches if e.launch.stands_for_arm}


def _workloads(given: Given) -> tuple[str, ...]:
    return tuple(w.name for w in given.rig.workloads)


def _common(
    tried: str, what: str, asked: str | None, mine: tuple[str, ...], theirs: tuple[str, ...]
) -> list[str]:
    both = [name for name in mine if name in theirs]
    known = f"the first has {', '.join(mine) or 'none'}, the second {', '.join(theirs) or 'none'}"
    if asked is not None and asked not in both:
        raise UsageError(
            tried=tried, found=f"no {what} {asked!r} that both measured: {known}", do=f"name a common {what}"
        )
    if not both:
        raise UsageError(
            tried=tried,
            found=f"they have no {what} in common: {known}",
            do="compare two runs of one rig that launched the same arms",
        )
    return both if asked is None else [asked]


def _missing(before: Given, after: Given, asked: str | None) -> Iterator[NotCompared]:
    mine, theirs = _arms(before), _arms(after)
    for name in dict.fromkeys((*mine, *theirs)):
        if (name in mine) != (name in theirs) and asked is None:
            only = before if name in mine else after
            yield NotCompared(arm=name, why=f"only {only.path} measured it")
        elif (name in _timed(before)) != (name in _timed(after)) and asked in (None, name):
            timed, other = (before, after) if name in _timed(before) else (after, before)
            why = f"its speed: only {timed.path} timed it, {other.path} carried instruments alone (-m verify)"
            yield NotCompared(arm=name, why=why)


def _named(given: Given) -> RunNamed:
    info = given.evidence.info
    return RunNamed(
        path=given.path,
        run_id=info.run_id,
        rig=info.rig,
        started_at=info.started_at,
        tokgate_version=info.tokgate_version,
    )
