"""Where the loss of a change leads: the part of it that costs, the phase, or the command that tells which."""

from __future__ import annotations

from tokgate.records.side import HEAD, SidesMade
from tokgate.rig.models import Rig

from .metrics import Metric
from .phases_of_change import tells_phases
from .run_again import PATCH_ALONE, measure, with_longer_restarts
from .side_split import phases_named
from .side_words import listed
from .split import Split

CULPRIT = "culprit"  # the mark of the search for the part of a change that costs


def next_of_loss(
    rig: Rig, made: SidesMade | None, metric: Metric, *, arm: str, workload: str, split: Split | None
) -> str:
    """Return the next step. `split`: of a loss of speed, what it is made of; None: not known, or not about speed."""
    units = made.units if made is not None else ()
    if rig.sides is not None and rig.sides.question == "instrumented":
        return "take it out before you quote a number of this server, or measure what each part costs: one --patch a part"
    if len(units) > 1:
        return f"which of its {len(units)} parts costs what: {measure(rig, CULPRIT)} --culprit"
    files = _files(made)
    if metric.name == "accept_length":
        return f"acceptance has moved: look at what the change does to the draft model's input or to sampling{files}"
    phases = phases_named(split)
    if phases is not None:
        return (
            f"read what the change does in {phases}{files}, then measure again: {measure(rig, PATCH_ALONE)}"
        )
    if split is not None and split.source is None and tells_phases(rig, arm, workload):
        # The plan of such a session has no instruments: restarts bring them where the time takes them.
        return (
            f"measure which phase it is: {with_longer_restarts(rig, PATCH_ALONE)}{_alone(rig, arm, workload)}"
        )
    return f"read the change{files}, then measure again: {measure(rig, PATCH_ALONE)}"


def _files(made: SidesMade | None) -> str:
    head = made.side(HEAD) if made is not None else None
    return f" ({listed(head.changed)})" if head is not None and head.changed else ""


def _alone(rig: Rig, arm: str, workload: str) -> str:
    """Return pytest's -k for one arm and workload where the rig has others: what tells the phase is enough."""
    named = [*([arm] if len(rig.arms) > 1 else []), *([workload] if len(rig.workloads) > 1 else [])]
    return f" -k '{' and '.join(named)}'" if named else ""
