"""Everything that a diagnosis may look at, gathered once; families of causes only read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokgate.records import LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.records.side import BASE
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.cycle_side import Side
from tokgate.verdicts.questions import SPEED

from .losses import Loss, Place, beside_its_base, loss_of
from .readings import raw_base, raw_side, timed

# What a session judges besides a change: by these its numbers are held against something else than the base.
_OF_OTHERS = ("baseline", "budget", "twin")
BAD = (Outcome.REGRESSED, Outcome.INVALID, Outcome.INCONCLUSIVE)
Baselines = Mapping[Place, BaselineFile]


@dataclass(frozen=True)
class Case:
    """One session: evidence, what was concluded, and what was lost where.

    `baselines` are those that the run was compared with, by arm and workload. A place without one has its loss
    against the limits of the rig, or none; one that a change slows down against the base of the change.
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

    def bases(self, arm: str) -> tuple[LaunchEvidence, ...]:
        """Return the same of the base of a change."""
        return tuple(e for e in self.run.launches if e.launch.arm == arm and e.launch.side == BASE)

    def timed(self, arm: str) -> tuple[LaunchEvidence, ...]:
        return timed(self.run, arm)

    def verdicts_of(self, *checks: str, outcomes: Iterable[Outcome] = BAD) -> tuple[Verdict, ...]:
        wanted = set(outcomes)
        return tuple(v for v in self.verdicts if v.check in checks and v.outcome in wanted)


def case_of(rig: Rig, run: RunEvidence, verdicts: Sequence[Verdict], baselines: Baselines) -> Case:
    """Read what was lost at every place that was measured.

    Where a change is measured, a place whose speed is called a loss has its base beside it to be held against: neither a number
    from another session nor a limit says more. Where nothing but the change was asked for, nothing else is looked for.
    """
    places = [(arm.name, workload.name) for arm in rig.arms for workload in rig.workloads]
    sides = {p: side for p in places if (side := raw_side(run, *p)) is not None}
    changed = {
        (v.arm or "", v.workload or ""): v for v in verdicts if v.check == "patch" and v.metric in SPEED
    }
    others = rig.sides is None or any(
        v.reference is not None and v.reference.kind in _OF_OTHERS for v in verdicts
    )
    losses: dict[Place, Loss] = {}
    for place, side in sides.items():
        lost = place in changed and changed[place].outcome is Outcome.REGRESSED
        loss = loss_of(rig, sides, place, baselines.get(place)) if others and not lost else None
        base = raw_base(run, *place) if loss is None and place in changed else None
        if base is not None:
            loss = beside_its_base(base, side, place, changed[place].change)
        if loss is not None:
            losses[place] = loss
    kept = baselines if others else {}
    return Case(rig=rig, run=run, verdicts=verdicts, baselines=kept, sides=sides, losses=losses)
