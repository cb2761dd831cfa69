"""A session on several hosts: which were admitted, which shifts they worked, and what became of each: fleet.json."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from .host import Difference
from .record import Record, Whole

FLEET = "fleet.json"
HOSTS = "hosts"  # folder of a run: one run folder a shift in it


class HostState(StrEnum):
    ADMITTED = "admitted"
    LEFT_OUT = "left out"  # before anything was measured there
    LOST = "lost"  # while it measured


class HostSeen(Record):
    """One host of the pool, as its admission probe found it and as the session left it."""

    name: str
    address: str
    state: HostState
    why: str | None = None  # where it is not admitted
    do: str | None = None
    facts: dict[str, str | None] = {}  # what hosts of one fleet must share
    differs: tuple[Difference, ...] = ()  # from the others, `before` what they have
    notes: tuple[str, ...] = ()  # worth knowing, nothing that kept it out
    seconds: float = 0.0  # that the probe took


class SideTree(Record):
    """One side of a change as a host has made it."""

    name: str  # "base", "head"
    tree: str  # sha256 over names and contents of all that Python imports
    words: str  # "base main (1a2b3c4d5e)"
    commit: str | None = None
    dirty: str | None = None  # hash of what is not committed
    carried: tuple[str, ...] = ()  # files that no commit holds, by name: the first of them


class ShiftState(StrEnum):
    MEASURING = "measuring"
    MEASURED = "measured"
    LOST = "lost"  # its host was: what it measured is kept, and judged nowhere
    REFUSED = "refused"  # nothing was measured: the host was not clean, or somebody else has it
    BROKEN_OFF = "broken off"  # the session ended before it did


class Shift(Record):
    """One host's part of a session: the control arm, the groups it took, the control arm again, under one lease."""

    number: Whole
    host: str
    worker: str
    folder: str  # relative to the run folder; a run folder of its own
    groups: tuple[str, ...] = ()  # arms, in the order in which they were taken
    state: ShiftState
    why: str | None = None  # of one that is not measured
    measured: tuple[str, ...] = ()  # launches that have been made
    began_at: str  # ISO 8601, UTC
    ended_at: str | None = None
    seconds: float | None = None
    trees: tuple[SideTree, ...] = ()  # of a change, as this host has made them; (): none yet, or nobody asked
    side_fault: tuple[str, str, str] | None = None  # tried, found, do: why the change could not be made here

    @property
    def label(self) -> str:
        """What reports call it: "gpu7", and "gpu7-2" where that host has worked before."""
        return self.folder.rpartition("/")[2]


class Fleet(Record):
    """All that is known of the hosts of a session. Written anew with every change."""

    schema_number: int = 1
    hosts: tuple[HostSeen, ...]
    shifts: tuple[Shift, ...] = ()
    groups: tuple[str, ...] = ()  # what is to be measured, in order
    each_on: Whole = 1  # hosts that measure each group
    unmeasured: dict[str, str] = {}  # group -> why nobody could
    trees: tuple[SideTree, ...] = ()  # of a change: those that all hosts measure; () until that is settled
    trees_of: tuple[str, ...] = ()  # the hosts that had them when that was settled
    words: tuple[str, ...] = ()  # what a reader must know besides: workers without a host, say

    def host(self, name: str) -> HostSeen:
        return next(host for host in self.hosts if host.name == name)

    def measured(self) -> tuple[Shift, ...]:
        """Return the shifts that are judged, in order."""
        return tuple(shift for shift in self.shifts if shift.state is ShiftState.MEASURED)

    def of_group(self, group: str) -> Iterator[Shift]:
        """Yield the shifts that measured a group to their end."""
        yield from (shift for shift in self.measured() if group in shift.groups)
