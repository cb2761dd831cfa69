"""How much of an arm's loss the control shares: both ran on one machine and one tree in the same session.

The control runs the same tree without speculation. What it lost since its own baseline is what machine and tree can
account for; the rest of an arm's loss is the arm's, or lies in code that speculation alone runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.errors import BaselineError
from tokgate.records import Fingerprint, LaunchEvidence, Outcome
from tokgate.records.record import Record
from tokgate.rig.models import Floor, Rig
from tokgate.stats.compare import compare

from .baseline_file import Absence, BaselineFile
from .checks.speculation_beats_its_twin import speculation_beats_its_twin
from .establish import Established, establish_workload
from .identity import identity_of_launch
from .metrics import Metric, floor_of, throughput_metric
from .staleness import staleness

CHECK = "control part"


class Control(Record):
    """The control of an arm's session, and what is stored for it."""

    launch: LaunchEvidence
    stored: BaselineFile | Absence


class ControlPart(Record):
    moves: dict[str, float] = {}  # metric -> relative change of the control since its own baseline
    trails: bool = False  # speculation falls short of the rig's limit against this control
    speed: Metric  # what throughput means for the workload: told where the control lacks a metric

    def beyond(self, metric: Metric, change: float, floor: Floor) -> bool:
        """Say whether an arm lost more than the floor on top of what the control lost; False where unknown."""
        own = self.moves.get(metric.name)
        return own is not None and metric.loss((1 + change) / (1 + own) - 1) > floor.relative

    def sentence(self, rig: Rig, metric: Metric, *, tree: bool) -> str | None:
        """Return half a sentence on what the control did, None where nothing is known of it."""
        own = metric.name in self.moves
        told, whose = (metric, "control") if own else (self.speed, f"control's {self.speed.words}")
        move = self.moves.get(told.name)
        if move is None:
            return None
        moved = told.loss(move) > floor_of(rig, told).relative
        what = f"the {whose} on the same {'tree' if tree else 'machine'} "
        what += f"moved by {move * 100:+.1f} %" if moved else f"held ({move * 100:+.1f} %)"
        if not tree:
            return f"{what}: the rest is this arm's own" if moved else f"{what}: the loss is this arm's own"
        part = "at most that part" if moved else "no part of it"
        return f"{what}: the tree is {part}, unless what changed is run by speculation alone"


def control_before(launches: Sequence[LaunchEvidence], launch: LaunchEvidence) -> LaunchEvidence | None:
    """Return the control that ran before an arm's launch; None for a control, or where none did.

    One that ran later is left out: of a living session it is not known yet, and judging the stored one again must
    find the same.
    """
    if launch.launch.role != "arm" or launch.server is None:
        return None
    return next(
        (
            e
            for e in launches
            if e.launch.role == "control"
            and e.server is not None
            and e.server.started_at < launch.server.started_at
        ),
        None,
    )


def control_part(
    rig: Rig,
    arm: LaunchEvidence,
    workload: str,
    control: Control,
    *,
    stored: Fingerprint | None,
    now: Fingerprint | None,
) -> ControlPart:
    """Compare the control with its own baseline. `stored` is the fingerprint of the arm's baseline, `now` the run's.

    Nothing is known of its moves where it cannot be judged, has no baseline, or one of another machine or tree than
    the arm's: the two then differ by more than speculation.
    """
    twins = speculation_beats_its_twin(rig, arm, (control.launch,), workload)
    return ControlPart(
        moves=_moves(rig, control, workload, stored, now),
        trails=any(v.outcome is Outcome.REGRESSED for v in twins),
        speed=throughput_metric(rig.workload(workload).concurrency),
    )


def _moves(
    rig: Rig, control: Control, workload: str, stored: Fingerprint | None, now: Fingerprint | None
) -> dict[str, float]:
    baseline = control.stored
    if isinstance(baseline, Absence) or stored is None or baseline.fingerprint is None:
        return {}
    if staleness(rig, baseline.fingerprint, stored).since is not None:
        return {}
    established = establish_workload(rig, control.launch, workload, check=CHECK)
    try:
        identity = identity_of_launch(rig, control.launch, workload, now)
    except BaselineError:
        return {}
    if not isinstance(established, Established) or identity != baseline.identity:
        return {}
    return {
        name: compare(series.values, before).ratio - 1
        for name, series in established.series.items()
        if (before := tuple(statistics.median(start) for start in baseline.by_start(name)))
    }
