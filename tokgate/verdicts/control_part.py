"""How much of an arm's loss the control shares: both ran on one machine and one tree in the same session.

The control runs the same tree without speculation. What it lost since its own baseline is what machine and tree can
account for; the rest of an arm's loss is the arm's, or lies in code that speculation alone runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from tokgate.errors import BaselineError
from tokgate.records import Fingerprint, LaunchEvidence, Outcome
from tokgate.records.record import Record
from tokgate.rig.limits import Floor
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision

from .baselines.file import Absence, BaselineFile
from .baselines.identity import identity_of_launch
from .baselines.staleness import staleness
from .checks.speculation_beats_its_twin import speculation_beats_its_twin
from .ledger import run_values
from .metrics import METRICS, Metric, throughput_metric
from .run_values import asked_of, values_now
from .validity import establish_arm

CHECK = "control part"


class Control(Record):
    """The control of an arm's session, and what is stored for it."""

    launches: tuple[LaunchEvidence, ...] = Field(min_length=1)
    stored: BaselineFile | Absence


class ControlPart(Record):
    moves: dict[str, Decision] = {}  # metric -> the control against its own baseline
    trails: bool = False  # speculation falls short of the rig's limit against this control
    speed: Metric  # what throughput means for the workload: told where the control lacks a metric

    def beyond(self, metric: Metric, change: float, floor: Floor) -> bool:
        """Say whether an arm lost more than the floor on top of what the control lost; False where unknown."""
        own = self.moves.get(metric.name)
        return own is not None and metric.loss((1 + change) / (1 + own.change) - 1) > floor.relative

    def sentence(self, metric: Metric, *, tree: bool) -> str | None:
        """Return half a sentence on what the control did, None where nothing is known of it."""
        own = metric.name in self.moves
        told, whose = (metric, "control") if own else (self.speed, f"control's {self.speed.words}")
        move = self.moves.get(told.name)
        if move is None:
            return None
        subject = f"the {whose} on the same {'tree' if tree else 'machine'}"
        what, moved = f"{subject} {_did(move)}", move.loss > move.floor
        if not tree:
            return f"{what}: the rest is this arm's own" if moved else f"{what}: the loss is this arm's own"
        part = "at most that part" if moved else "no part of it"
        return f"{what}: the tree is {part}, unless what changed is run by speculation alone"


def _did(move: Decision) -> str:
    """Say what a control did as surely as its own runs show it: by the interval, as nothing hangs on it alone."""
    amount = f"{move.change * 100:+.1f} %"
    low, high = move.interval
    if move.loss > move.floor:
        return f"{'seems to have moved' if low <= 0 <= high else 'moved'} by {amount}"
    if move.outcome is Outcome.INCONCLUSIVE:
        return f"is not seen to have moved ({amount}, {low * 100:+.1f} to {high * 100:+.1f} %)"
    return f"held ({amount})"


def controls_of(
    launches: Sequence[LaunchEvidence], arm: Sequence[LaunchEvidence]
) -> tuple[LaunchEvidence, ...]:
    """Return the runs of the session's control, restarts too, beside those of an arm; () for the control itself.

    Give all launches of the session once the last one is made: judging the stored ones again must find the same.
    """
    own = {e.launch.arm for e in arm}
    names = {e.launch.arm for e in launches if e.launch.role == "control"} - own
    return tuple(e for e in launches if e.launch.arm in names and e.launch.stands_for_arm)


def control_part(
    rig: Rig,
    arm: Sequence[LaunchEvidence],
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
    twins = speculation_beats_its_twin(rig, tuple(arm), control.launches, workload)
    return ControlPart(
        moves=_moves(rig, control, workload, stored, now),
        trails=any(v.outcome is Outcome.REGRESSED for v in twins),
        speed=throughput_metric(rig.workload(workload).concurrency),
    )


def _moves(
    rig: Rig, control: Control, workload: str, stored: Fingerprint | None, now: Fingerprint | None
) -> dict[str, Decision]:
    baseline = control.stored
    if isinstance(baseline, Absence) or stored is None or baseline.fingerprint is None:
        return {}
    if staleness(rig, baseline.fingerprint, stored).since is not None:
        return {}
    kept = {control.launches[0].launch.arm: baseline.launches}
    established = establish_arm(rig, control.launches, workload, check=CHECK, baseline_runs=kept)
    try:
        identities = [identity_of_launch(rig, one, workload, now) for one in control.launches]
    except BaselineError:
        return {}
    if not isinstance(established, tuple) or any(one != baseline.identity for one in identities):
        return {}
    found = {}
    for metric in METRICS.values():
        values, before = values_now(established, metric.name), run_values(baseline.launches, metric.name)
        if values and before:
            rule = asked_of(rig, "stored", metric, workload, established).rule
            found[metric.name] = decide(values, before, rule, kind="stored")
    return found
