"""What one host of a fleet measures: the control arm around the groups that it takes, each group whole."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from tokgate.records import Launch
from tokgate.rig.models import Rig

from .preamble import possible_launches

# Groups that are no arm of the rig.
NCCL_OFF, SWEEP = "nccl-off", "sweep"
# Of a group, what lies between the two launches of the control arm; what remains is not timed, or has controls of its own.
_BRACKETED = ("arm", "side", "nccl-off")


def group_of(rig: Rig, launch: Launch) -> str | None:
    """Return the group that a launch belongs to; None: every host makes it, as what the others are judged beside."""
    if launch.role == "nccl-off":
        return NCCL_OFF
    if launch.role in ("sweep", "sweep-control"):
        return SWEEP
    return None if launch.arm == rig.control.name else launch.arm


def groups_of(rig: Rig, wanted: Collection[str]) -> tuple[str, ...]:
    """Return the groups of a selection in order. `wanted`: ids of launches. Of the control arm alone: that arm."""
    found = dict.fromkeys(
        group
        for launch in possible_launches(rig)
        if launch.id in wanted and (group := group_of(rig, launch)) is not None
    )
    return tuple(found) or ((rig.control.name,) if wanted else ())


class ShiftPlan(NamedTuple):
    """Launches in the order in which a host makes them, but for those of groups, which it takes one by one."""

    first: tuple[Launch, ...]  # the proof start, the control arm, its base
    last: tuple[Launch, ...]  # the control arm again
    behind: tuple[Launch, ...]  # the control arm with instruments


class GroupPlan(NamedTuple):
    timed: tuple[Launch, ...]
    behind: tuple[Launch, ...]


def shift_plan(rig: Rig, wanted: Collection[str]) -> ShiftPlan:
    """Return what every host makes. A group is judged beside the control arm, whether or not a test names that."""
    shared = [launch for launch in possible_launches(rig) if group_of(rig, launch) is None]
    asked = [launch for launch in shared if launch.id in wanted]
    return ShiftPlan(
        first=tuple(launch for launch in asked if launch.role in ("nccl-proof", "control", "side")),
        last=tuple(launch for launch in asked if launch.role == "control-again"),
        behind=tuple(launch for launch in asked if launch.role == "instrumented"),
    )


def group_plan(rig: Rig, group: str, wanted: Collection[str]) -> GroupPlan:
    launches = [
        launch for launch in possible_launches(rig) if launch.id in wanted and group_of(rig, launch) == group
    ]
    return GroupPlan(
        timed=tuple(launch for launch in launches if launch.role in _BRACKETED),
        behind=tuple(launch for launch in launches if launch.role not in _BRACKETED),
    )


def reckoned_s(
    rig: Rig, seconds: Mapping[str, float], at_once: int, *, each_on: int = 1
) -> tuple[int, float]:
    """Return how many launches all hosts make together, and how long that takes with `at_once` of them at a time.

    `seconds`: what each launch of the plan takes, as on one host. Groups go to whoever is free: the longest first is what that
    comes to, to within one group.
    """
    shared = [
        launch for launch in possible_launches(rig) if launch.id in seconds and group_of(rig, launch) is None
    ]
    own: dict[str, float] = {}
    count = 0
    for launch in possible_launches(rig):
        group = group_of(rig, launch)
        if group is not None and launch.id in seconds:
            own[group] = own.get(group, 0.0) + seconds[launch.id]
            count += 1
    # Fewer at a time than each arm is measured on: the same worker goes on to the next host.
    hosts = max(1, min(max(at_once, each_on), len(own) * each_on or 1))
    loads = [0.0] * hosts
    for longest in sorted(own.values(), reverse=True):
        for _ in range(min(each_on, hosts)):
            loads[loads.index(min(loads))] += longest
    bracket = sum(seconds[launch.id] for launch in shared)
    shifts = [bracket + load for load in loads]
    return hosts * len(shared) + min(each_on, hosts) * count, max(*shifts, math.fsum(shifts) / at_once)
