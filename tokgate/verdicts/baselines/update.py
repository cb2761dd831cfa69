"""From runs to new baselines: what would be stored, and why a run may be refused. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokgate.errors import BaselineError
from tokgate.records import LaunchEvidence, RunEvidence, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.verdicts.cycle_side import carried

from .creep import beyond
from .doubts import ended_badly, grounds, noise, of_a_change, refuse_incomparable, refuse_invalid
from .draft import Draft, Given, Request, draft_of
from .file import Absence, BaselineFile
from .identity import Identity
from .staleness import mixed

LookUp = Callable[[Identity], BaselineFile | Absence]


class _Fit(Record):
    """One run that may be stored, as far as it alone can tell."""

    ended: tuple[str, ...]
    noise: tuple[str, ...]


def drafts(given: Sequence[Given], look_up: LookUp, request: Request) -> tuple[Draft, ...]:
    """Return what the runs would store: one baseline per arm and workload, of all runs together.

    With `request.append` their launches join those already stored; otherwise they replace them, and the former
    provenance goes into the history. BaselineError refuses runs in which anything about the launches to be stored is
    `invalid`, an unknown arm, a run that is stored already, and, without `despite_doubts`, a run that drifted or was
    unsteady: the next run would be judged by noise. What the run's own session concluded (`Given.judged`) of what is
    stored, regressed or invalid, is such a doubt as well, and runs of several trees or drivers are. A loss beyond the
    creep budget is refused without a reason of its own, and fewer sessions in place of more without `replace`. A draft that would raise a number on too little evidence is
    `kept`: it says why, and is not to be written.
    """
    rig = given[-1].rig
    tried = f"store {_named(given)} as baseline"
    _refuse_strangers(given, tried=tried)
    known = [a.name for a in rig.arms if any(_of_arm(g.run, a.name) for g in given)]
    if request.arm is not None and request.arm not in known:
        raise BaselineError(
            tried=tried,
            found=f"the run has no launch of arm {request.arm!r}",
            do=f"name one of: {', '.join(known) or 'nothing was launched'}",
        )
    arms = known if request.arm is None else [request.arm]
    if not arms:
        raise BaselineError(tried=tried, found="the run has no launches", do="measure first: make gate")
    fit = [_fit(g, arms, tried=f"store run {g.run.info.run_id} as baseline") for g in given]
    several = [
        f"{g.run.info.run_id} and {given[-1].run.info.run_id} are not of one machine and tree: {told}"
        for g in given[:-1]
        for told in mixed(rig, g.run.fingerprint, given[-1].run.fingerprint)[:1]
    ]
    ended = [doubt for one in fit for doubt in one.ended]
    doubts = tuple(dict.fromkeys([*ended, *(d for one in fit for d in one.noise), *several]))
    changes = [doubt for g in given for doubt in of_a_change(g.rig, g.run)]
    if changes and not request.despite_doubts:
        raise BaselineError(
            tried=tried,
            found=f"a change is no baseline: {'; '.join(changes)}",
            do="merge it, measure the merged tree by itself (pytest perf_tests -m eagle3 without --base, --head or --patch) and "
            "store that run; or store this one knowingly: --despite-doubts",
        )
    doubts = (*changes, *doubts)
    _refuse_doubts(doubts, request, tried=tried, first=bool(ended))
    found = tuple(
        draft_of(given, name, workload.name, look_up, request, doubts=doubts)
        for name in arms
        for workload in rig.workloads
    )
    _refuse_forgetting(found, request, tried=tried)
    return _within_creep(rig, found, request, tried=tried)


def _named(given: Sequence[Given]) -> str:
    ids = [g.run.info.run_id for g in given]
    return f"run {ids[0]}" if len(ids) == 1 else f"runs {', '.join(ids)}"


def _of_arm(run: RunEvidence, arm: str) -> list[LaunchEvidence]:
    # Launches of another kind run with other variables: their numbers are nobody's baseline.
    return [e for e in run.launches if e.launch.arm == arm and e.launch.stands_for_arm]


def _refuse_strangers(given: Sequence[Given], *, tried: str) -> None:
    ids = [g.run.info.run_id for g in given]
    if len(set(ids)) < len(ids):
        raise BaselineError(
            tried=tried,
            found="one run is given twice",
            do="name each once: what is counted twice looks surer than it is",
        )
    rigs = {(g.rig.name, g.rig.simulated) for g in given}
    if len(rigs) > 1:
        raise BaselineError(
            tried=tried,
            found=f"they are of {len(rigs)} rigs: {', '.join(sorted(name for name, _ in rigs))}",
            do="store the runs of one rig at a time",
        )


def _fit(given: Given, arms: Sequence[str], *, tried: str) -> _Fit:
    rig, run = given.rig, given.run
    launches = [e for name in arms for e in _of_arm(run, name)]
    launches.sort(key=lambda e: e.launch.id)
    verdicts: tuple[Verdict, ...] = tuple(grounds(rig, run, launches))
    refuse_invalid(verdicts, tried=tried)
    refuse_incomparable(rig, launches, tried=tried)
    with_phases = [e for name in arms for e in carried(run, name)]
    return _Fit(ended=ended_badly(given.judged, [*launches, *with_phases]), noise=noise(verdicts))


def _refuse_doubts(doubts: Sequence[str], request: Request, *, tried: str, first: bool) -> None:
    if not doubts or request.despite_doubts:
        return
    what = "explain what it ended with" if first else "measure again on a quiet machine"
    raise BaselineError(
        tried=tried,
        found=f"{len(doubts)} doubt{'s' if len(doubts) > 1 else ''} about it: {'; '.join(doubts)}",
        do=f"{what}, or store it knowingly: --despite-doubts",
    )


def _refuse_forgetting(found: Sequence[Draft], request: Request, *, tried: str) -> None:
    forgets = [draft.forgets for draft in found if draft.forgets is not None]
    if forgets and not request.replace:
        raise BaselineError(
            tried=tried,
            found=f"it would replace more sessions by fewer: {'; '.join(forgets)}",
            do="add to them: --append; or name as many runs; or put fewer in their place knowingly: --replace",
        )


def _within_creep(rig: Rig, found: tuple[Draft, ...], request: Request, *, tried: str) -> tuple[Draft, ...]:
    over = [
        f"{one.metric} of {draft.new.workload} on {draft.new.arm} {one.words}"
        for draft in found
        if draft.kept is None
        for one in beyond(rig, draft.old, draft.new)
    ]
    if over and request.despite_creep is None:
        raise BaselineError(
            tried=tried,
            found=f"accepted losses would add up beyond the creep budget: {'; '.join(over)}",
            do='find what it lost, bit by bit (tokgate history RIG), or accept it with its reason: --despite-creep "…"',
        )
    return found
