"""Launches of a session on a change that no comparison can come of, once a side is known not to start: they cost GPU time for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import Launch, LaunchEvidence, LeftOut, StartFailure
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.verdicts.launch_faults import launch_faults
from tokgate.verdicts.lost_side import lost_sides
from tokgate.verdicts.side_faults import does_not_compile, mend


def left_out(
    rig: Rig,
    measured: Sequence[LaunchEvidence],
    launch: Launch,
    *,
    broken: Mapping[str, StartFailure],
    change_alone: bool,
) -> LeftOut | None:
    """Return why a launch is not worth making; None: it is. `change_alone`: nothing is asked but head against base.

    `broken`: sides whose sources do not compile. A side that is shown not to start leaves the other without anything to be held
    against. What it is asked for besides, the promises of the main job on a head whose base is broken, is measured
    all the same. What breaks the control arm, or does not compile, breaks every arm.
    """
    if launch.side not in (BASE, HEAD) or launch.role == "culprit":
        return None
    for lost in lost_sides(measured):
        concerned = lost.everywhere(rig) or lost.arm == launch.arm
        if concerned and (launch.side in (lost.side, BASE) or change_alone):
            return _beside(lost.evidence)
    for side, failure in broken.items():
        if side != launch.side and (launch.side == BASE or change_alone):
            return LeftOut(
                why=f"not tried: {side} does not compile, so there is nothing to compare", do=failure.do
            )
    if change_alone and launch.role == "control-again" and _nothing_to_bracket(rig, measured):
        return _beside(next(lost_sides(measured)).evidence)
    return _head_was_not_started(measured, launch)


def starts_alone(measured: Sequence[LaunchEvidence], launch: Launch) -> LeftOut | None:
    """Return why nothing is measured in a launch that is made all the same: it tells whether it is the change that does not start."""
    if launch.role != "side":
        return None
    failed = next((e for e in _heads(measured, launch) if e.failure is not None), None)
    if failed is None:
        return None
    return LeftOut(
        why=f"started to see whether the base does, and not measured: {failed.launch.id} did not start, so there is nothing to "
        "compare",
        do=mend(failed),
    )


def _beside(lost: LaunchEvidence) -> LeftOut:
    verb = "compile" if does_not_compile(lost) else "start"
    return LeftOut(
        why=f"not tried: {lost.launch.side} does not {verb} ({lost.launch.id}), so there is nothing to compare",
        do=mend(lost),
    )


def _nothing_to_bracket(rig: Rig, measured: Sequence[LaunchEvidence]) -> bool:
    """Say whether every EAGLE-3 arm that was measured is without a comparison: the second control would stand around nothing."""
    arms = {
        e.launch.arm for e in measured if e.launch.role == "arm" and rig.arm(e.launch.arm).kind == "eagle3"
    }
    return bool(arms) and arms <= {lost.arm for lost in lost_sides(measured)}


def _head_was_not_started(measured: Sequence[LaunchEvidence], launch: Launch) -> LeftOut | None:
    """Return the reason of a head that was not started, a machine that is not clean say, for its base."""
    if launch.role != "side":
        return None
    for head in _heads(measured, launch):
        if head.server is None and head.failure is None and head.left_out is None:
            why = next(iter(launch_faults(head)))
            return LeftOut(
                why=f"not tried: {head.launch.id} was not started, so there is nothing to compare", do=why.do
            )
    return None


def _heads(measured: Sequence[LaunchEvidence], launch: Launch) -> Iterator[LaunchEvidence]:
    """Yield the head's planned launches of the same arm so far."""
    for evidence in measured:
        one = evidence.launch
        if one.side == HEAD and one.arm == launch.arm and one.role in ("control", "arm"):
            yield evidence
