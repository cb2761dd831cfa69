"""From a run to new baselines: what would be stored, and why a run may be refused. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from tokgate.errors import BaselineError
from tokgate.records import PRECEDENCE, LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig

from .baseline_file import Absence, BaselineFile, BaselineLaunch, Provenance
from .checks.cache_state import cache_state
from .checks.clean_slate import clean_slate
from .checks.client_headroom import client_headroom
from .checks.environment_truth import environment_truth
from .checks.steadiness import drift, steadiness
from .cycle_side import WITHOUT, carried
from .establish import Established, establish_workload
from .identity import Identity, identity_hash, identity_of_launch
from .launch_phases import LaunchPhases, launch_phases
from .metrics import METRICS
from .portable import without_machine

CHECK = "baseline update"

LookUp = Callable[[Identity], BaselineFile | Absence]


class Draft(Record):
    """A baseline about to be stored, beside what it replaces."""

    new: BaselineFile
    old: BaselineFile | None
    doubts: tuple[str, ...]  # findings about the run that do not forbid it: worth reading before committing
    phases: str | None = (
        None  # what is kept of the phases of a cycle, or why nothing is; None: no speculation
    )

    def changes(self) -> tuple[str, ...]:
        """Return one line per metric: n and median before and now."""
        return tuple(_change_line(name, self.old, self.new) for name in METRICS if self.new.by_start(name))


def drafts(
    rig: Rig,
    run: RunEvidence,
    look_up: LookUp,
    *,
    provenance: Provenance,
    judged: Sequence[Verdict] | None,
    arm: str | None = None,
    append: bool = False,
    despite_doubts: bool = False,
    portable: bool = False,
) -> tuple[Draft, ...]:
    """Return what `run` would store: one baseline per arm and workload.

    `portable` leaves out what is known of the machine. With `append` its launches join those already stored; otherwise they replace them, and the
    former provenance goes into the history. BaselineError refuses a run in which anything about
    the launches to be stored is `invalid`, an unknown arm, a run that is stored already, and, without
    `despite_doubts`, a run that drifted or was unsteady: the next run would be judged by noise. `judged` is what the
    run's own session concluded, None where it never did: a verdict of it on what is stored that is regressed or
    invalid is such a doubt as well, since what is stored is what later runs are found no worse than.
    """
    tried = f"store run {run.info.run_id} as baseline"
    # Launches of another kind run with other variables: their numbers are nobody's baseline.
    measured = [e for e in run.launches if e.launch.stands_for_arm]
    known = [a.name for a in rig.arms if any(e.launch.arm == a.name for e in measured)]
    if arm is not None and arm not in known:
        raise BaselineError(
            tried=tried,
            found=f"the run has no launch of arm {arm!r}",
            do=f"name one of: {', '.join(known) or 'nothing was launched'}",
        )
    arms = known if arm is None else [arm]
    launches = [e for e in measured if e.launch.arm in arms]
    if not launches:
        raise BaselineError(tried=tried, found="the run has no launches", do="measure first: make gate")
    with_phases = [e for name in arms for e in carried(run, name)]
    verdicts = tuple(_grounds(rig, run, launches))
    refused = next((v for v in verdicts if v.outcome is Outcome.INVALID), None)
    if refused is not None:
        raise BaselineError(
            tried=tried,
            found=f"the run is invalid: {refused.headline}",
            do=refused.do or "measure again",
        )
    noise = tuple(v.headline for v in verdicts if v.outcome is Outcome.INCONCLUSIVE)
    ended = _ended_badly(judged, [*launches, *with_phases])
    doubts = (*ended, *noise)
    if doubts and not despite_doubts:
        first = "explain what it ended with" if ended else "measure again on a quiet machine"
        raise BaselineError(
            tried=tried,
            found=f"{len(doubts)} doubt{'s' if len(doubts) > 1 else ''} about it: {'; '.join(doubts)}",
            do=f"{first}, or store it knowingly: --despite-doubts",
        )
    return tuple(
        _draft(
            rig,
            run,
            name,
            workload.name,
            look_up,
            provenance=provenance,
            append=append,
            doubts=doubts,
            portable=portable,
        )
        for name in arms
        for workload in rig.workloads
    )


def _grounds(rig: Rig, run: RunEvidence, launches: list[LaunchEvidence]) -> Iterable[Verdict]:
    """Yield every verdict on whether these launches were fit to be judged, none on how fast they were."""
    yield from clean_slate(run.slate_at_start, rig.gpus)
    if run.slate_at_end is not None:  # a run of selected tests may not have looked at its end
        yield from clean_slate(run.slate_at_end, rig.gpus)
    controls = tuple(e for e in launches if e.launch.role != "arm")
    if len(controls) > 1:
        for workload in rig.workloads:
            yield from (v for v in drift(rig, controls, workload.name) if v.outcome is not Outcome.INVALID)
    for launch in launches:
        yield from environment_truth(rig, launch)
        for workload in rig.workloads:
            yield from cache_state(rig, launch, workload.name)
            yield from client_headroom(rig, launch, workload.name)
            # A series too short for its steadiness to be known is a doubt, no reason to refuse.
            yield from (v for v in steadiness(rig, launch, workload.name) if v.outcome is not Outcome.INVALID)


def _ended_badly(judged: Sequence[Verdict] | None, launches: Sequence[LaunchEvidence]) -> tuple[str, ...]:
    """Return a doubt per check that found these launches, or the machine, regressed or invalid: its first headline."""
    if judged is None:
        return ("nobody has judged it: its session never came to an end",)
    stored, arms = {e.launch.id for e in launches}, {e.launch.arm for e in launches}
    found: dict[tuple[Outcome, str], list[str]] = {}
    for verdict in judged:
        if verdict.outcome not in (Outcome.REGRESSED, Outcome.INVALID):
            continue
        if verdict.launch in stored or (verdict.launch is None and verdict.arm in (None, *arms)):
            found.setdefault((verdict.outcome, verdict.check), []).append(verdict.headline)
    return tuple(
        f"{check} {outcome.value}: {told[0]}{f' (and {len(told) - 1} more)' if len(told) > 1 else ''}"
        for (outcome, check), told in sorted(found.items(), key=lambda one: PRECEDENCE.index(one[0][0]))
    )


def _draft(
    rig: Rig,
    run: RunEvidence,
    arm: str,
    workload: str,
    look_up: LookUp,
    *,
    provenance: Provenance,
    append: bool,
    doubts: tuple[str, ...],
    portable: bool,
) -> Draft:
    launches = [e for e in run.launches if e.launch.arm == arm and e.launch.stands_for_arm]
    identities = [identity_of_launch(rig, e, workload, run.fingerprint) for e in launches]
    if any(identity != identities[0] for identity in identities):
        raise BaselineError(
            tried=f"store {workload} on {arm} as one baseline",
            found="its launches have different identities",
            do="see server_info.json and the clean slates: the server or the GPUs changed in between",
        )
    found = look_up(identities[0])
    old = found if isinstance(found, BaselineFile) else None
    stored = tuple(_stored(rig, run.info.run_id, e, workload) for e in launches)
    kept = old.launches if old is not None and append else ()
    if any(launch.run_id == run.info.run_id for launch in kept):
        raise BaselineError(
            tried=f"append run {run.info.run_id} to {old.name if old is not None else 'nothing'}",
            found="this run is in it already",
            do="leave it, or replace the baseline: the same command without --append",
        )
    before = (old.provenance, *old.history) if old is not None else ()
    phases, told = _phases(rig, run, arm, workload, identities[0])
    if told is not None and not phases and old is not None and old.phases and not append:
        told = f"{told}; those stored before are gone"
    new = BaselineFile(
        rig=rig.name,
        arm=arm,
        workload=workload,
        simulated=rig.simulated,
        identity=identities[0],
        identity_hash=identity_hash(identities[0]),
        fingerprint=without_machine(run.fingerprint, rig.checkout)
        if portable and run.fingerprint is not None
        else run.fingerprint,
        provenance=provenance,
        history=before,
        launches=(*kept, *stored),
        phases=(*(old.phases if old is not None and append else ()), *phases),
    )
    return Draft(new=new, old=old, doubts=doubts, phases=told)


def _phases(
    rig: Rig, run: RunEvidence, arm: str, workload: str, identity: Identity
) -> tuple[tuple[LaunchPhases, ...], str | None]:
    """Return what is kept of the launches with instruments, and a line on it. They are no reason to refuse the others."""
    if rig.arm(arm).kind != "eagle3":
        return (), None
    kept: list[LaunchPhases] = []
    whys: list[str] = []
    for launch in carried(run, arm):
        found = launch_phases(rig, run.info.run_id, launch, workload)
        if isinstance(found, str):
            whys.append(found)
        elif identity_of_launch(rig, launch, workload, run.fingerprint) != identity:
            whys.append(f"{launch.launch.id} has another identity than the launches that were timed")
        else:
            kept.append(found)
    if not kept:
        return (), f"phases: none stored: {whys[0] if whys else WITHOUT}"
    starts = sum(len(one.cycles) for one in kept)
    sources = ", ".join(dict.fromkeys(r.source for one in kept for r in one.readings))
    return tuple(kept), f"phases: {', '.join(one.launch for one in kept)}, {starts} starts, by {sources}"


def _stored(rig: Rig, run_id: str, launch: LaunchEvidence, workload: str) -> BaselineLaunch:
    established = establish_workload(rig, launch, workload, check=CHECK)
    if not isinstance(established, Established):
        raise BaselineError(
            tried=f"store {workload} on {launch.launch.id}",
            found=established.headline,
            do=established.do or "measure again",
        )
    return BaselineLaunch(
        run_id=run_id,
        launch=launch.launch.id,
        samples={name: series.by_start for name, series in sorted(established.series.items())},
    )


def _change_line(name: str, old: BaselineFile | None, new: BaselineFile) -> str:
    metric = METRICS[name]
    now = [statistics.median(start) for start in new.by_start(name)]
    text = f"{name}: {metric.text(statistics.median(now))} (n={len(now)})"
    before = [statistics.median(start) for start in old.by_start(name)] if old is not None else []
    if not before:
        return f"{text}, new"
    change = statistics.median(now) / statistics.median(before) - 1
    return f"{text}, was {metric.text(statistics.median(before))} (n={len(before)}), {change:+.1%}"
