"""What is still to be measured in a fleet, by whom, and which trees of a change count there: pure functions of what its board has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records.fleet import Fleet, HostState, Shift, ShiftState


def settled(fleet: Fleet, shown: Sequence[Shift]) -> Fleet:
    """Return the fleet with the trees that most of these shifts have made; of a tie, the earliest host's of the pool."""
    order = [host.name for host in fleet.hosts]
    hosts: dict[tuple[str, ...], list[Shift]] = {}
    for shift in sorted(shown, key=lambda s: order.index(s.host)):
        hosts.setdefault(tuple(tree.tree for tree in shift.trees), []).append(shift)
    most = max(hosts.values(), key=len)  # of equals the first, which is that of the earliest host
    return fleet.model_copy(update={"trees": most[0].trees, "trees_of": tuple(s.host for s in most)})


def holding(fleet: Fleet, group: str) -> list[Shift]:
    """Return the shifts that have measured a group or are at it."""
    return [
        s
        for s in fleet.shifts
        if group in s.groups and s.state in (ShiftState.MEASURED, ShiftState.MEASURING)
    ]


def open_for(fleet: Fleet, host: str) -> Iterator[str]:
    """Yield the groups that a host may take now: those that fewest hosts have first, none twice on one host."""
    most = wanted(fleet)
    free = [g for g in fleet.groups if g not in fleet.unmeasured]
    for group in sorted(free, key=lambda g: len(holding(fleet, g))):
        held = holding(fleet, group)
        if len(held) < most and all(s.host != host for s in held):
            yield group


def wanted(fleet: Fleet) -> int:
    """Return on how many hosts each group is measured: no more than there are."""
    there = [h for h in fleet.hosts if h.state is HostState.ADMITTED]
    used = {s.host for s in fleet.shifts if s.state is ShiftState.MEASURED}
    return min(fleet.each_on, max(1, len({h.name for h in there} | used)))


def unfinished(fleet: Fleet) -> tuple[str, ...]:
    """Return the groups that are not measured on as many hosts as they should be, and may still be."""
    most = wanted(fleet)
    return tuple(g for g in fleet.groups if g not in fleet.unmeasured and len(list(fleet.of_group(g))) < most)
