"""What has changed of each EAGLE-3 arm since its stored baseline, split into acceptance and phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from tokgate.errors import BaselineError
from tokgate.records import Record, RunEvidence
from tokgate.rig.models import Rig
from tokgate.verdicts.baseline_file import Absence, find
from tokgate.verdicts.cycle_side import side_of_baseline, side_of_run
from tokgate.verdicts.identity import identity_of_launch
from tokgate.verdicts.split import Split, split_change


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
    found = now if isinstance(now, str) else split_change(arm, workload, side_of_baseline(stored), now)
    if isinstance(found, str):
        return SinceBaseline(arm=arm, workload=workload, why=found)
    return SinceBaseline(arm=arm, workload=workload, change=found)


def changes(found: Sequence[SinceBaseline]) -> Iterator[Split]:
    for one in found:
        if one.change is not None:
            yield one.change
