"""A worker of a fleet: shift after shift on whatever host is free, until all is measured or no host is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from tokgate.errors import BenchFault, HostLost, LeaseFault, SideFault
from tokgate.records.fleet import HostState, Shift, ShiftState
from tokgate.records.side import SidesMade
from tokgate.rig.models import Rig
from tokgate.rig.pool import PoolHost, pool_of, rig_on

from .fleet_board import Board, Claim
from .fleet_shift import RunsShift, Settles, WatchedSession, reason, run_shift
from .fleet_trees import agree
from .live import LiveSession

_POLL_S = 0.5  # for a host or a group that comes back
_LEASE_POLL_S = 5.0
_TELL_EVERY_S = 60.0


class Equipment(Protocol):
    """What a worker is given by whoever runs the tests."""

    def session(self, rig: Rig, folder: Path, host: str) -> LiveSession:
        """Return a session on one host, not yet open."""

    def sampling(
        self, rig: Rig, watched: WatchedSession, groups: tuple[str, ...], folder: Path
    ) -> Settles: ...


class Worker:
    def __init__(
        self,
        rig: Rig,
        *,
        name: str,
        folder: Path,
        wanted: tuple[str, ...],
        equipment: Equipment,
        say: Callable[[str], None],
        wait_for_lease_s: float = 0.0,
        run: RunsShift = run_shift,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wanted`: ids of the launches that the selected tests ask for. `folder`: the run's."""
        self._rig = rig
        self._name = name
        self._folder = folder
        self._wanted = wanted
        self._equipment = equipment
        self._say = say
        self._wait_s = wait_for_lease_s
        self._run = run
        self._pause = pause
        self._clock = clock
        self._board = Board(folder, name)
        self._pool: dict[str, PoolHost] = {host.name: host for host in pool_of(rig)}
        self._worked = False
        self._told_waiting = False

    def work(self) -> None:
        """Measure until there is nothing left to measure, by anybody. What nobody can measure is given up, with why."""
        waited_since: float | None = None
        refusals: dict[str, str] = {}
        while not self._board.over():
            claim = self._board.claim()
            if claim is not None:
                fault = self._shift(claim)
                if isinstance(fault, LeaseFault):
                    self._board.busy.add(claim.shift.host)
                    refusals[claim.shift.host] = fault.found
                continue
            others = self._board.at_work()
            if others:
                self._tell_waiting(others)
                self._pause(_POLL_S)
                continue
            if not self._board.busy:
                self._board.give_up(self._board.unfinished(), self._why_nobody())
                break
            waited_since = waited_since if waited_since is not None else self._clock()
            if self._clock() - waited_since >= self._wait_s:
                held = "; ".join(refusals.values())
                self._board.give_up(self._board.unfinished(), f"no host is free: {held}"[:800])
                break
            self._say(f"{self._name} waits for a host: {'; '.join(refusals.values())}")
            self._pause(min(_LEASE_POLL_S, self._wait_s))
            self._board.busy.clear()

    def _tell_waiting(self, others: tuple[Shift, ...]) -> None:
        if self._told_waiting:
            return
        self._told_waiting = True
        hosts = ", ".join(shift.host for shift in others)
        if self._worked:
            self._say(f"{self._name} has nothing left to measure, and waits: {hosts} still at work")
        else:
            words = f"{self._name} found no host free that may measure what is left ({hosts} at work): it waits for what comes back"
            self._say(words)
            self._board.told(words)

    def _why_nobody(self) -> str:
        hosts = self._board.read().hosts
        told = "; ".join(f"{h.name} {h.state.value}: {h.why}" for h in hosts if h.why)
        return f"no host is left that could measure it: {told or 'the pool has none'}"[:800]

    def _shift(self, claim: Claim) -> BenchFault | None:
        """Work one shift; return why it came to nothing, None where it was measured to its end."""
        shift, began = claim.shift, self._clock()
        rig = rig_on(self._rig, self._pool[shift.host])
        folder = self._folder / shift.folder
        session = self._equipment.session(rig, folder, shift.host)
        measuring = False

        def began_measuring(made: SidesMade | None) -> None:
            nonlocal measuring
            agree(self._board, shift.number, made, spec=rig.sides, pause=self._pause, clock=self._clock)
            measuring = self._worked = True
            self._say(f"{shift.host}: leased by {self._name}, first {claim.group}")

        try:
            self._run(
                session,
                rig,
                wanted=self._wanted,
                groups=self._groups(claim),
                began=began_measuring,
                made=lambda launches: self._board.made(shift.number, launches),
                sampling=lambda watch, groups: self._equipment.sampling(rig, watch, groups, folder),
            )
        except BenchFault as fault:
            self._end(shift, fault, measuring=measuring, seconds=self._clock() - began)
            return fault
        except BaseException as error:
            why = f"the session ended before it did: {type(error).__name__}"
            self._board.end(shift.number, ShiftState.BROKEN_OFF, why, seconds=self._clock() - began)
            raise
        self._board.end(shift.number, ShiftState.MEASURED, seconds=round(self._clock() - began, 1))
        self._told_waiting = False
        return None

    def _groups(self, claim: Claim) -> Iterator[str]:
        yield claim.group
        while (group := self._board.next_group(claim.shift.number)) is not None:
            self._say(f"{claim.shift.host}: takes {group}")
            yield group

    def _end(self, shift: Shift, fault: BenchFault, *, measuring: bool, seconds: float) -> None:
        why = reason(fault)
        if isinstance(fault, SideFault):
            self._board.refused_side(shift.number, (fault.tried, fault.found, fault.do))
        if isinstance(fault, LeaseFault) and not measuring:
            self._say(f"{shift.host} is not free: {why}")
            self._board.end(shift.number, ShiftState.REFUSED, why)
            return
        lost = measuring or isinstance(fault, HostLost)
        state, of_host = (
            (ShiftState.LOST, HostState.LOST) if lost else (ShiftState.REFUSED, HostState.LEFT_OUT)
        )
        self._say(
            f"{shift.host} is lost, and what it had not finished goes to another host: {why}"
            if lost
            else f"{shift.host} is left out: {why}"
        )
        self._board.end(shift.number, state, why, host=of_host, do=fault.do, seconds=round(seconds, 1))
