"""Everything that a diagnosis may look at, gathered once; families of causes only read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokgate.records import LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.cycle_side import Side

from .losses import Loss, Place, loss_of
from .readings import raw_side, timed

BAD = (Outcome.REGRESSED, Outcome.INVALID, Outcome.INCONCLUSIVE)
Baselines = Mapping[Place, BaselineFile]


@dataclass(frozen=True)
class Case:
    """One session: evidence, what was concluded, and what was lost where.

    `baselines` are those that the run was compared with, by arm and workload. A place without one has its loss
    against the limits of the rig, or none.
    """

    rig: Rig
    run: RunEvidence
    verdicts: Sequence[Verdict]
    baselines: Baselines
    sides: Mapping[Place, Side]
    losses: Mapping[Place, Loss]

    @property
    def control(self) -> str:
        return self.rig.control.name

    @property
    def speculating(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.rig.arms if a.kind == "eagle3")

    def launches(self, arm: str) -> tuple[LaunchEvidence, ...]:
        """Return what was timed of an arm, and what carried instruments."""
        every = (e for e in self.run.launches if e.launch.arm == arm)
        return tuple(e for e in every if e.launch.stands_for_arm or e.launch.role == "instrumented")

    def timed(self, arm: str) -> tuple[LaunchEvidence, ...]:
        return timed(self.run, arm)

    def verdicts_of(self, *checks: str, outcomes: Iterable[Outcome] = BAD) -> tuple[Verdict, ...]:
        wanted = set(outcomes)
        return tuple(v for v in self.verdicts if v.check in checks and v.outcome in wanted)


def case_of(rig: Rig, run: RunEvidence, verdicts: Sequence[Verdict], baselines: Baselines) -> Case:
    """Read what was lost at every place that was measured."""
    places = [(arm.name, workload.name) for arm in rig.arms for workload in rig.workloads]
    sides = {p: side for p in places if (side := raw_side(run, *p)) is not None}
    losses = {p: loss for p in places if (loss := loss_of(rig, sides, p, baselines.get(p))) is not None}
    return Case(rig=rig, run=run, verdicts=verdicts, baselines=baselines, sides=sides, losses=losses)
