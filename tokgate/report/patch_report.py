"""What a session says of a change to SGLang: whether it is slower than its base, whether both have crept, what that means together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from tokgate.records import Outcome, Record, RunEvidence, Verdict
from tokgate.records.side import BASE, HEAD, SidesMade, SideState
from tokgate.rig.models import Rig
from tokgate.verdicts.cycle_side import side_of_base, side_of_run
from tokgate.verdicts.metrics import METRICS, floor_of
from tokgate.verdicts.side_faults import does_not_compile, is_of_the_bench, never_imported
from tokgate.verdicts.side_words import side_words, subject_words
from tokgate.verdicts.split import Split, split_change

from .patch_answers import KEPT, Answered, all_elsewhere, anchor_answer, patch_answer, together


class SideTold(Record):
    """One tree of SGLang that servers were started from."""

    name: str
    words: str
    made_from: str = Field(description="the repository or installed package on the host")
    kind: Literal["worktree", "copy", "installed"]
    ref: str | None
    commit: str | None
    dirty: str | None = Field(description="hash of the tree with what is not committed; null: nothing")
    version: str | None
    tree: str = Field(description="sha256 over names and contents of all that Python imports")
    units: tuple[str, ...] = Field(description="its part of the change, in order")
    required: tuple[str, ...] = Field(description="the rig's own patches, on every side")
    changed: tuple[str, ...] = Field(description="files that differ from the base")
    carried: tuple[str, ...] = Field(description="built files that no commit holds, taken over unchanged")
    notes: tuple[str, ...] = ()


class PatchReport(Record):
    """A change to SGLang, measured against its base in this session."""

    question: Literal["patch", "instrumented", "culprit"]
    subject: str = Field(description="what the change is called")
    patch: Answered
    anchor: Answered
    together: str | None = Field(
        description="what the two answers say together; null: nothing beyond themselves"
    )
    broken: bool = Field(
        description="a server does not start with the change and does without: the change is at fault, and not the bench"
    )
    compiles: bool = Field(
        True, description="false: sources with the change do not compile, so that no server was started"
    )
    elsewhere: bool = Field(
        description="the change costs nothing, and what has regressed has done so on the base as well"
    )
    sides: tuple[SideTold, ...]
    units: tuple[str, ...] = Field(description="all of the change, in order")
    never_imported: tuple[str, ...] = Field(
        (), description="changed files that no server imported: they cannot have mattered"
    )
    splits: tuple[Split, ...] = Field((), description="head against base, split into acceptance and phases")
    gpu_seconds: float | None = Field(
        None, description="of all server runs, times the rig's GPUs; null: not known of each"
    )
    base_gpu_seconds: float | None = Field(None, description="of those, what the base took")
    notes: tuple[str, ...] = ()


def patch_report(rig: Rig, evidence: RunEvidence, verdicts: Sequence[Verdict]) -> PatchReport | None:
    """Return what is to be told of the change that a session measured; None where it measured none."""
    if rig.sides is None:
        return None
    made, subject = evidence.sides or SidesMade(), subject_words(rig.sides)
    patch = patch_answer(verdicts, subject, evidence.info.asked)
    anchor = anchor_answer(verdicts, evidence.info.asked)
    if patch.outcome is None and evidence.info.fault is not None:
        why = "nothing was shown: the session could not begin"
        patch = patch.model_copy(update={"outcome": Outcome.INVALID, "words": why})
    elsewhere = patch.outcome in KEPT and all_elsewhere(rig, verdicts)
    heads = [e for e in evidence.launches if e.launch.stands_for_arm and e.launch.side == HEAD]
    whole = [e.wall_s for e in evidence.launches]
    based = [e.wall_s for e in evidence.launches if e.launch.side == BASE]
    return PatchReport(
        question=rig.sides.question,
        subject=subject,
        patch=patch,
        anchor=anchor,
        together=together(rig, verdicts, patch, anchor, subject, elsewhere=elsewhere),
        broken=_broken(evidence),
        compiles=not any(e.launch.side == HEAD and does_not_compile(e) for e in evidence.launches),
        elsewhere=elsewhere,
        sides=tuple(map(_told, made.sides)),
        units=tuple(unit.name for unit in made.units),
        never_imported=never_imported(heads),
        splits=tuple(_splits(rig, evidence, made)),
        gpu_seconds=_gpu_seconds(rig, whole),
        base_gpu_seconds=_gpu_seconds(rig, based),
        notes=made.notes,
    )


def _broken(evidence: RunEvidence) -> bool:
    """Say whether an arm did not start from the head, and did from the base; or could not have."""
    if any(e.launch.side == HEAD and does_not_compile(e) for e in evidence.launches):
        return True
    failed = {
        e.launch.arm
        for e in evidence.launches
        if e.launch.side == HEAD and e.failure is not None and not is_of_the_bench(e.failure.cause)
    }
    based = [e for e in evidence.launches if e.launch.side == BASE and e.launch.arm in failed]
    return any(e.server is not None and e.failure is None for e in based)


def _told(state: SideState) -> SideTold:
    return SideTold(
        name=state.name,
        words=side_words(state, state.name),
        made_from=state.source,
        kind=state.kind,
        ref=state.ref,
        commit=state.commit,
        dirty=state.dirty,
        version=state.version,
        tree=state.tree,
        units=tuple(unit.name for unit in state.units),
        required=tuple(unit.name for unit in state.required),
        changed=state.changed,
        carried=state.carried,
        notes=state.notes,
    )


def _splits(rig: Rig, evidence: RunEvidence, made: SidesMade) -> Iterator[Split]:
    """Yield the change of decode tok/s of each EAGLE-3 arm and workload of which both sides may be judged."""
    labels = {name: side_words(made.side(name), name) for name in (BASE, HEAD)}
    for arm in rig.arms:
        for workload in rig.workloads if arm.kind == "eagle3" else ():
            base = side_of_base(rig, evidence, arm.name, workload.name, label=labels[BASE])
            head = side_of_run(rig, evidence, arm.name, workload.name, label=labels[HEAD])
            if isinstance(base, str) or isinstance(head, str):
                continue
            floor = floor_of(rig, METRICS["decode_tok_s"])
            found = split_change(arm.name, workload.name, base, head, floor=floor, kind="side")
            if isinstance(found, Split):
                yield found


def _gpu_seconds(rig: Rig, walls: Sequence[float | None]) -> float | None:
    known = [wall for wall in walls if wall is not None]
    if not known or len(known) < len(walls):
        return None
    return math.fsum(known) * max(1, rig.gpus.count)
