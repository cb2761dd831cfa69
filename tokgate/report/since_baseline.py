"""What has changed of each EAGLE-3 arm since its stored baseline, split into acceptance and phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from tokgate.errors import BaselineError
from tokgate.records import Record, RunEvidence
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.file import Absence
from tokgate.verdicts.baselines.identity import identity_of_launch
from tokgate.verdicts.baselines.load import find
from tokgate.verdicts.cycle_side import NONE_STORED, side_of_baseline, side_of_run
from tokgate.verdicts.metrics import METRICS, floor_of
from tokgate.verdicts.split import Split, split_change

_THEN = "measure with -m eagle3, then store that run with `tokgate baseline update`"


class SinceBaseline(Record):
    """One arm and workload of which a baseline is stored."""

    arm: str
    workload: str
    change: Split | None = Field(None, description="null: it could not be compared, and `why` says so")
    why: str | None = None


def since_baseline(rig: Rig, evidence: RunEvidence, folder: Path) -> tuple[SinceBaseline, ...]:
    """Compare with the copies of the baselines that lie in the run's `folder`: those that it was compared with.

    An arm and workload without a baseline is left out: the check on stored baselines says that there is none.
    """
    arms = {a.name for a in rig.arms if a.kind == "eagle3"}
    return tuple(
        found
        for launch in evidence.launches
        if launch.launch.role == "arm" and launch.launch.arm in arms
        for workload in rig.workloads
        if (found := _of(rig, evidence, launch.launch.id, workload.name, folder)) is not None
    )


def _of(rig: Rig, evidence: RunEvidence, launch_id: str, workload: str, folder: Path) -> SinceBaseline | None:
    launch = next(e for e in evidence.launches if e.launch.id == launch_id)
    arm = launch.launch.arm
    try:
        stored = find(folder, rig.name, identity_of_launch(rig, launch, workload, evidence.fingerprint))
    except BaselineError as error:
        # A launch that cannot be named has no baseline either, and its own check says why.
        return None if launch.server is None else SinceBaseline(arm=arm, workload=workload, why=error.found)
    if isinstance(stored, Absence):
        return None
    now = side_of_run(rig, evidence, arm, workload)
    floor = floor_of(rig, METRICS["decode_tok_s"])
    found = (
        now
        if isinstance(now, str)
        else split_change(arm, workload, side_of_baseline(stored), now, floor=floor)
    )
    if isinstance(found, str):
        return SinceBaseline(arm=arm, workload=workload, why=found)
    return SinceBaseline(arm=arm, workload=workload, change=_with_reason(rig, found))


def _with_reason(rig: Rig, change: Split) -> Split:
    """Say what to do for phases. What the rig's instruments leave out is missing for that, whatever was stored."""
    why = change.why_no_phases
    if why is None:
        return change
    if rig.instruments.skip is not None:
        why = f"no launch carries instruments, since {rig.instruments.skip}"
    elif all(w.name != change.workload for w in instrumented(rig).workloads):
        why = (
            f"[instruments] of the rig leave {change.workload} out: name it in instruments.workloads, {_THEN}"
        )
    else:
        why = why.replace(NONE_STORED, f"none were stored with it: {_THEN}")
    return change.model_copy(update={"why_no_phases": why})


def changes(found: Sequence[SinceBaseline]) -> Iterator[Split]:
    for one in found:
        if one.change is not None:
            yield one.change
