"""The baselines that a run was compared with: copies of them lie in its folder."""

from __future__ import annotations

from pathlib import Path

from tokgate.errors import BaselineError
from tokgate.records import RunEvidence
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.baselines.identity import identity_of_launch
from tokgate.verdicts.baselines.load import find

from .losses import Place
from .readings import timed


def baselines_in(folder: Path, rig: Rig, run: RunEvidence) -> dict[Place, BaselineFile]:
    """Return them by arm and workload; what is absent or cannot be read is left out: its own check says why."""
    found: dict[Place, BaselineFile] = {}
    for arm in rig.arms:
        for launch in timed(run, arm.name)[:1]:
            for workload in rig.workloads:
                try:
                    identity = identity_of_launch(rig, launch, workload.name, run.fingerprint)
                    stored = find(folder, rig.name, identity)
                except BaselineError:
                    continue
                if isinstance(stored, BaselineFile):
                    found[arm.name, workload.name] = stored
    return found
