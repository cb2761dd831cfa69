"""One baseline about to be stored, beside what it replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokgate.errors import BaselineError
from tokgate.records import LaunchEvidence, RunEvidence, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.verdicts.arm_restarts import taking
from tokgate.verdicts.cycle_side import WITHOUT, carried
from tokgate.verdicts.establish import Established, establish_workload
from tokgate.verdicts.launch_phases import LaunchPhases, launch_phases
from tokgate.verdicts.ledger import Accepted, Anchored, anchors_of

from .creep import beyond
from .file import Absence, BaselineFile, BaselineLaunch, Provenance
from .identity import Identity, identity_hash, identity_of_launch
from .moves import Move, moves_of, raised_too_soon
from .portable import without_machine
from .sizes import counted, thin
from .staleness import mixed

CHECK = "baseline update"


class Given(Record):
    """A run to be stored. `judged`: what its own session concluded; None where it never did."""

    rig: Rig
    run: RunEvidence
    judged: tuple[Verdict, ...] | None


class Request(Record):
    """Who wants what stored, and why."""

    who: str
    when: str  # ISO 8601, UTC
    why: str
    arm: str | None = None  # None: all arms
    append: bool = False  # add to what is stored, rather than replace it
    replace: bool = False  # put fewer sessions in place of more
    despite_doubts: bool = False
    despite_creep: str | None = None  # why a loss beyond the creep budget is accepted
    portable: bool = False  # leave out what is known of the machine


class Draft(Record):
    """`doubts`: findings about the runs that do not forbid it, worth reading before committing."""

    new: BaselineFile
    old: BaselineFile | None
    moves: tuple[Move, ...]
    doubts: tuple[str, ...]
    kept: str | None = None  # why what is stored stays as it is; None: it is to be written
    phases: str | None = (
        None  # what is kept of the phases of a cycle, or why nothing is; None: no speculation
    )

    @property
    def thin(self) -> str | None:
        """Say what so few sessions, or server runs in each, leave unknown; None: every level is measured."""
        return thin(self.new)

    @property
    def thinner(self) -> str | None:
        """Say that fewer server runs stand where more did: what comes later is judged less sharply."""
        if self.old is None or len(self.new.launches) >= len(self.old.launches):
            return None
        then, now = (counted(one) for one in (self.old, self.new))
        return f"{self.new.workload} on {self.new.arm}: {then} -> {now}: later runs are judged less sharply"

    @property
    def forgets(self) -> str | None:
        """Say which sessions would go without as many in their place; None: none would."""
        if self.kept is not None or self.old is None or len(self.new.sessions) >= len(self.old.sessions):
            return None
        return f"{self.new.workload} on {self.new.arm}: {counted(self.old)} -> {counted(self.new)}"

    def changes(self) -> tuple[str, ...]:
        """Return one line per metric: n and level before and now."""
        return tuple(move.line for move in self.moves)


def draft_of(
    given: Sequence[Given],
    arm: str,
    workload: str,
    look_up: Callable[[Identity], BaselineFile | Absence],
    request: Request,
    *,
    doubts: tuple[str, ...],
) -> Draft:
    """Return one draft; BaselineError as of update.drafts."""
    rig, newest = given[-1].rig, given[-1].run
    identity = _one_identity(given, arm, workload)
    found = look_up(identity)
    old = found if isinstance(found, BaselineFile) else None
    fresh = tuple(
        _stored(g.rig, g.run.info.run_id, e, workload) for g in given for e in _timed(g.run, arm, workload)
    )
    held = old if request.append else None
    kept = held.launches if held is not None else ()
    again = {one.run_id for one in kept} & {one.run_id for one in fresh}
    if again:
        raise BaselineError(
            tried=f"append run {', '.join(sorted(again))} to {old.name if old is not None else 'nothing'}",
            found="this run is in it already",
            do="leave it, or replace the baseline: the same command without --append",
        )
    if held is not None and (others := mixed(rig, held.fingerprint, newest.fingerprint)):
        doubt = f"what is appended is not of the machine and tree of {held.name}: {others[0]}"
        if not request.despite_doubts:
            raise BaselineError(
                tried=f"append to {held.name}",
                found=doubt,
                do="replace it (without --append), or mix both knowingly: --despite-doubts",
            )
        doubts = (*doubts, doubt)
    phases, told = _phases(given, arm, workload, identity)
    if told is not None and not phases and old is not None and old.phases and not request.append:
        told = f"{told}; those stored before are gone"
    new = BaselineFile(
        rig=rig.name,
        arm=arm,
        workload=workload,
        simulated=rig.simulated,
        identity=identity,
        identity_hash=identity_hash(identity),
        fingerprint=without_machine(newest.fingerprint, rig.checkout)
        if request.portable and newest.fingerprint is not None
        else newest.fingerprint,
        provenance=_provenance(given, request, doubts),
        history=(old.provenance, *old.history) if old is not None else (),
        launches=(*kept, *fresh),
        phases=(*(held.phases if held is not None else ()), *phases),
    )
    new = new.model_copy(update=_ledger(old, new, request))
    if beyond(rig, old, new):  # the reason stays where it was needed
        last = new.accepted[-1].model_copy(update={"despite_creep": request.despite_creep})
        new = new.model_copy(update={"accepted": (*new.accepted[:-1], last)})
    soon = raised_too_soon(rig, old, new, fresh, append=request.append)
    if soon and request.despite_doubts:
        doubts, soon = (*doubts, *soon), ()
        new = new.model_copy(update={"provenance": _provenance(given, request, doubts)})
    return Draft(
        # Once more through the checks of a file that is read: model_copy asks nothing.
        new=BaselineFile.model_validate_json(new.model_dump_json()),
        old=old,
        moves=moves_of(rig, old, new, fresh),
        doubts=doubts,
        kept=f"{soon[0]}{f' (and {len(soon) - 1} more)' if len(soon) > 1 else ''}" if soon else None,
        phases=told,
    )


def _timed(run: RunEvidence, arm: str, workload: str) -> tuple[LaunchEvidence, ...]:
    return taking([e for e in run.launches if e.launch.arm == arm and e.launch.stands_for_arm], workload)


def _one_identity(given: Sequence[Given], arm: str, workload: str) -> Identity:
    found = [
        identity_of_launch(g.rig, e, workload, g.run.fingerprint)
        for g in given
        for e in _timed(g.run, arm, workload)
    ]
    if any(identity != found[0] for identity in found):
        raise BaselineError(
            tried=f"store {workload} on {arm} as one baseline",
            found="its launches have different identities",
            do="see server_info.json and the clean slates: the server or the GPUs changed in between",
        )
    return found[0]


def _provenance(given: Sequence[Given], request: Request, doubts: tuple[str, ...]) -> Provenance:
    newest = given[-1].run
    facts = newest.fingerprint.facts if newest.fingerprint is not None else {}
    commits = dict.fromkeys(g.run.info.commit for g in given if g.run.info.commit is not None)
    return Provenance(
        who=request.who,
        when=request.when,
        why=request.why,
        runs=tuple(g.run.info.run_id for g in given),
        commit=", ".join(commits) or None,
        sglang_commit=facts.get("sglang.commit"),
        sglang_tree=facts.get("sglang.dirty"),
        despite=doubts if request.despite_doubts else (),
    )


def _ledger(old: BaselineFile | None, new: BaselineFile, request: Request) -> dict[str, object]:
    """Return anchor and accepted levels: the anchor stays, a metric that is new begins with one of its own."""
    levels = new.levels
    sessions = tuple(dict.fromkeys(one.run_id for one in new.launches))
    anchor: dict[str, Anchored] = dict(old.anchored) if old is not None else {}
    first = {name: level for name, level in levels.items() if name not in anchor}
    anchor |= anchors_of(first, when=request.when, why=request.why, sessions=sessions)
    if old is None:
        return {"anchor": anchor}
    accepted = Accepted(when=request.when, who=request.who, why=request.why, levels=levels)
    return {"anchor": anchor, "accepted": (*old.accepted, accepted)}


def _phases(
    given: Sequence[Given], arm: str, workload: str, identity: Identity
) -> tuple[tuple[LaunchPhases, ...], str | None]:
    """Return what is kept of the launches with instruments, and a line on it. They are no reason to refuse the others."""
    if given[-1].rig.arm(arm).kind != "eagle3":
        return (), None
    kept: list[LaunchPhases] = []
    whys: list[str] = []
    for one in given:
        for launch in taking(carried(one.run, arm), workload):
            found = launch_phases(one.rig, one.run.info.run_id, launch, workload)
            if isinstance(found, str):
                whys.append(found)
            elif identity_of_launch(one.rig, launch, workload, one.run.fingerprint) != identity:
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
