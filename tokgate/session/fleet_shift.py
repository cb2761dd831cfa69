"""One shift: a session on one host of a fleet, from its lease until that is given back, or until the host is lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from tokgate.errors import BenchFault, HostFault, HostLost, LeaseFault, SlateFault
from tokgate.hosts.connection import Host
from tokgate.hosts.lease import Lease, holder_of
from tokgate.hosts.scripts import source
from tokgate.hosts.undertaker import Undertaker
from tokgate.records import Launch, LaunchEvidence
from tokgate.records.side import SidesMade
from tokgate.rig.models import Rig

from .fleet_plan import group_plan, shift_plan
from .live import LiveSession

_WHICH = source("lease") + "\ndef main(_):\n    return machine()\n"
_ASKS = 2  # a single unanswered command may be a hiccup
_BETWEEN_S = 2.0


class Settles(Protocol):
    """The stop rule of a session (sampling.py)."""

    def settle(self) -> None: ...


class WatchedSession:
    """A session whose host is asked whether it is still there whenever a launch ends badly.

    A server that dies is a finding about the server, and stays one. A host that is gone is none: HostLost ends the shift.
    """

    def __init__(self, session: LiveSession, host: Host, lease: Lease) -> None:
        self.session = session
        self._host = host
        self._lease = lease
        self._undertaker = Undertaker(host, lease)
        self._machine = self._ask()
        self.made: list[str] = []

    def close(self) -> None:
        self._undertaker.close()

    def restarts(self) -> tuple[LaunchEvidence, ...]:
        return self.session.restarts()

    def measured(self, launch: Launch) -> LaunchEvidence:
        """Measure it. HostLost: what came of it is the host's doing."""
        new = not self.session.is_measured(launch)
        evidence = self.session.measured(launch)
        if new:
            self.made.append(launch.id)
            self._look(evidence)
        return evidence

    def _look(self, evidence: LaunchEvidence) -> None:
        if self._lease.lost is not None:
            raise self._lost(self._lease.lost)
        if ended_well(evidence):
            self._undertaker.again()
            return
        broke = self._undertaker.broke()
        now = self._still()
        if now != self._machine:
            raise self._lost("it was restarted in between")
        holder = holder_of(self._host)
        if holder is None or not holder.ours:
            # Its heartbeats came too late: whoever came meanwhile took this gate for dead.
            who = f"{holder.owner} ({holder.where}) has taken it over" if holder else "its file is gone"
            raise self._lost(f"the lease is lost: {who}")
        if broke:
            raise self._lost("it was out of reach for a while, and answers again")

    def _still(self) -> str:
        for left in reversed(range(_ASKS)):
            try:
                return self._ask()
            except HostFault as fault:
                if not left:
                    raise self._lost(fault.found) from fault
                time.sleep(_BETWEEN_S)
        raise AssertionError("asked at least once")

    def _ask(self) -> str:
        return str(self._host.run_python(_WHICH, name="reader of the machine's identity"))

    def _lost(self, why: str) -> HostLost:
        return HostLost(
            tried=f"to measure on {self._host.name}",
            found=why,
            do="see to its network, its sshd and its uptime; what it left unfinished is measured on another host",
        )


def ended_well(evidence: LaunchEvidence) -> bool:
    """Say whether nothing in a launch could be the doing of a host that is gone."""
    return (
        evidence.failure is None
        and not evidence.faults
        and evidence.wall_s is not None
        and (evidence.slate is None or evidence.slate.clean)
        and (evidence.liveness is None or evidence.liveness.answered)
    )


@contextlib.contextmanager
def opened(session: LiveSession) -> Iterator[WatchedSession]:
    """Open a session on a host of a fleet, and close it however the block ends.

    LeaseFault: somebody else has the host. SlateFault: it is not clean. HostLost: it is gone. BenchFault: it will not do.
    """
    try:
        session.open()
        watched = _looked_at(session)
    except BaseException:
        session.close()
        raise
    try:
        yield watched
        _ = session.slate_at_end
    finally:
        try:
            session.close()  # gives the lease back, after which there is nothing to bury
        finally:
            watched.close()


def _looked_at(session: LiveSession) -> WatchedSession:
    site = session.site
    if site is None:
        raise AssertionError("an open session has its site")
    slate = session.slate_at_start
    if slate is not None and not slate.clean:
        first = next(f for f in slate.findings if f.severity != "note")
        raise SlateFault(
            tried=f"to find {site.host.name} clean before anything starts", found=first.what, do=first.do
        )
    return WatchedSession(session, site.host, site.lease)


class RunsShift(Protocol):
    """Runs a shift to its end. Raises as `run_shift` does."""

    def __call__(
        self,
        session: LiveSession,
        rig: Rig,
        /,
        *,
        wanted: Sequence[str],
        groups: Iterator[str],
        began: Callable[[SidesMade | None], None],
        made: Callable[[tuple[str, ...]], None],
        sampling: Callable[[WatchedSession, tuple[str, ...]], Settles],
    ) -> None: ...


def run_shift(
    session: LiveSession,
    rig: Rig,
    /,
    *,
    wanted: Sequence[str],
    groups: Iterator[str],
    began: Callable[[SidesMade | None], None],
    made: Callable[[tuple[str, ...]], None],
    sampling: Callable[[WatchedSession, tuple[str, ...]], Settles],
) -> None:
    """Make the launches of a shift: the control arm, group after group as `groups` gives them, the control arm again.

    `began` is told that the host is ours and clean, with the sides of the change it has made, and may refuse; `made` which launches there are by now. `sampling` gets the groups taken,
    and obeys the stop rule at the end. HostLost: the host is gone. Else as `opened`.
    """
    plan = shift_plan(rig, wanted)
    taken: list[str] = []
    with opened(session) as watched:
        began(session.sides_made)

        def take(launches: Sequence[Launch]) -> None:
            for launch in launches:
                try:
                    watched.measured(launch)
                finally:
                    made(tuple(watched.made))

        take(plan.first)
        for group in groups:
            taken.append(group)
            take(group_plan(rig, group, wanted).timed)
        take(plan.last)
        for group in taken:
            take(group_plan(rig, group, wanted).behind)
        take(plan.behind)
        sampling(watched, tuple(taken)).settle()
        made(tuple(watched.made))


def reason(fault: BenchFault) -> str:
    """Return why a host takes no part, in words for people who have a table of hosts before them."""
    if isinstance(fault, LeaseFault):
        return fault.found
    if isinstance(fault, SlateFault):
        return f"it is not clean: {fault.found}"
    return fault.found
