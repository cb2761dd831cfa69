"""What the workers of a fleet share: fleet.json in the run folder, changed under a lock.

A worker claims a free host together with the first group that nobody has; while it measures it takes one group after the
other. A shift that ends well makes its groups measured. One whose host was lost, or whose worker died, gives them back.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tokgate.errors import UsageError
from tokgate.hosts.scripts.lease import start_of
from tokgate.records.fleet import FLEET, HOSTS, Fleet, HostState, Shift, ShiftState
from tokgate.records.whole_file import replace_file

_LOCK = ".fleet.lock"


class Claim(NamedTuple):
    shift: Shift
    group: str


def load_fleet(folder: Path) -> Fleet:
    """Read fleet.json of a run folder. UsageError: it makes no sense."""
    path = folder / FLEET
    try:
        return Fleet.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            tried=f"reading {path}",
            found=str(error)[:300],
            do="use a run folder that is complete, as the session wrote it",
        ) from error


def is_fleet(folder: Path) -> bool:
    return (folder / FLEET).is_file()


class Board:
    """One worker's hand on it. `worker`: its id under xdist, for people; its pid says whether it lives."""

    def __init__(self, folder: Path, worker: str, *, busy: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self._me = f"{worker}, pid {os.getpid()} {start_of(os.getpid())}"
        self.busy = set(busy)  # hosts that another gate was found to hold

    def write(self, fleet: Fleet) -> None:
        with self._locked():
            self._save(fleet)

    def read(self) -> Fleet:
        return load_fleet(self._folder)

    def claim(self) -> Claim | None:
        """Take the first free host and the first group that it may measure; None: there is no such pair now."""
        with self._changing() as change:
            fleet = self._without_dead(change.fleet)
            change.fleet = fleet
            for host in fleet.hosts:
                if host.state is not HostState.ADMITTED or host.name in self.busy:
                    continue
                if any(s.host == host.name and s.state is ShiftState.MEASURING for s in fleet.shifts):
                    continue
                group = next(iter(_open_for(fleet, host.name)), None)
                if group is None:
                    continue
                before = sum(s.host == host.name for s in fleet.shifts)
                shift = Shift(
                    number=len(fleet.shifts) + 1,
                    host=host.name,
                    worker=self._me,
                    folder=f"{HOSTS}/{host.name}" + (f"-{before + 1}" if before else ""),
                    groups=(group,),
                    state=ShiftState.MEASURING,
                    began_at=_now(),
                )
                change.fleet = fleet.model_copy(update={"shifts": (*fleet.shifts, shift)})
                return Claim(shift, group)
        return None

    def next_group(self, number: int) -> str | None:
        """Take one more group into a shift; None: nothing is left that its host may measure."""
        with self._changing() as change:
            shift = change.fleet.shifts[number - 1]
            group = next(iter(_open_for(change.fleet, shift.host)), None)
            if group is not None:
                change.shift(number, groups=(*shift.groups, group))
            return group

    def made(self, number: int, launches: tuple[str, ...]) -> None:
        """Write down which launches a shift has made by now."""
        with self._changing() as change:
            change.shift(number, measured=launches)

    def end(self, number: int, state: ShiftState, why: str | None = None, *, host: HostState | None = None,
            do: str | None = None, seconds: float | None = None) -> None:  # fmt: skip
        """End a shift. `host`: what its host is from now on, where that is no longer admitted."""
        with self._changing() as change:
            name = change.fleet.shifts[number - 1].host
            change.shift(number, state=state, why=why, ended_at=_now(), seconds=seconds)
            if host is not None:
                hosts = tuple(
                    h.model_copy(update={"state": host, "why": why, "do": do}) if h.name == name else h
                    for h in change.fleet.hosts
                )
                change.fleet = change.fleet.model_copy(update={"hosts": hosts})

    def told(self, words: str) -> None:
        with self._changing() as change:
            if words not in change.fleet.words:
                change.fleet = change.fleet.model_copy(update={"words": (*change.fleet.words, words)})

    def give_up(self, groups: tuple[str, ...], why: str) -> None:
        """Write down why groups are measured by nobody. What is measured already, or by somebody now, is left alone."""
        with self._changing() as change:
            left = {g: why for g in groups if g in _unfinished(change.fleet)}
            change.fleet = change.fleet.model_copy(update={"unmeasured": {**change.fleet.unmeasured, **left}})

    def over(self) -> bool:
        """Say whether every group is measured, on as many hosts as it should be, or will never be."""
        return not _unfinished(self.read())

    def at_work(self) -> tuple[Shift, ...]:
        """Return the shifts that living workers measure now."""
        with self._changing() as change:
            change.fleet = self._without_dead(change.fleet)
            return tuple(s for s in change.fleet.shifts if s.state is ShiftState.MEASURING)

    def unfinished(self) -> tuple[str, ...]:
        return _unfinished(self.read())

    def _without_dead(self, fleet: Fleet) -> Fleet:
        """End the shifts of workers that are no more: their hosts and groups are free again."""
        return fleet.model_copy(update={"shifts": tuple(_or_broken_off(s) for s in fleet.shifts)})

    @contextlib.contextmanager
    def _changing(self) -> Iterator[_Change]:
        with self._locked():
            before = load_fleet(self._folder)
            change = _Change(before)
            yield change
            if change.fleet != before:
                self._save(change.fleet)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        handle = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _save(self, fleet: Fleet) -> None:
        replace_file(self._folder / FLEET, fleet.model_dump_json(indent=1).encode() + b"\n")


class _Change:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def shift(self, number: int, **changes: object) -> None:
        shifts = list(self.fleet.shifts)
        shifts[number - 1] = shifts[number - 1].model_copy(update=changes)
        self.fleet = self.fleet.model_copy(update={"shifts": tuple(shifts)})


def _holding(fleet: Fleet, group: str) -> list[Shift]:
    """Return the shifts that have measured a group or are at it."""
    return [
        s
        for s in fleet.shifts
        if group in s.groups and s.state in (ShiftState.MEASURED, ShiftState.MEASURING)
    ]


def _open_for(fleet: Fleet, host: str) -> Iterator[str]:
    """Yield the groups that a host may take now: those that fewest hosts have first, none twice on one host."""
    most = _wanted(fleet)
    free = [g for g in fleet.groups if g not in fleet.unmeasured]
    for group in sorted(free, key=lambda g: len(_holding(fleet, g))):
        held = _holding(fleet, group)
        if len(held) < most and all(s.host != host for s in held):
            yield group


def _wanted(fleet: Fleet) -> int:
    """Return on how many hosts each group is measured: no more than there are."""
    there = [h for h in fleet.hosts if h.state is HostState.ADMITTED]
    used = {s.host for s in fleet.shifts if s.state is ShiftState.MEASURED}
    return min(fleet.each_on, max(1, len({h.name for h in there} | used)))


def _unfinished(fleet: Fleet) -> tuple[str, ...]:
    most = _wanted(fleet)
    return tuple(g for g in fleet.groups if g not in fleet.unmeasured and len(list(fleet.of_group(g))) < most)


def still_there(shift: Shift) -> bool:
    """Say whether the worker of a shift is still a process of this machine."""
    return _lives(shift.worker)


def _or_broken_off(shift: Shift) -> Shift:
    if shift.state is not ShiftState.MEASURING or _lives(shift.worker):
        return shift
    return shift.model_copy(
        update={
            "state": ShiftState.BROKEN_OFF,
            "why": f"its worker ({shift.worker}) is gone",
            "ended_at": _now(),
        }
    )


def _lives(worker: str) -> bool:
    pid, ticks = worker.rpartition("pid ")[2].split()
    return start_of(int(pid)) == int(ticks)


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
