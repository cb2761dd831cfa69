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
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tokgate.errors import UsageError
from tokgate.hosts.scripts.lease import start_of
from tokgate.records.fleet import FLEET, HOSTS, Fleet, HostState, Shift, ShiftState, SideTree
from tokgate.records.whole_file import replace_file

from .fleet_groups import open_for, settled, unfinished

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
                group = next(iter(open_for(fleet, host.name)), None)
                if group is None:
                    continue
                shift = Shift(
                    number=len(fleet.shifts) + 1,
                    host=host.name,
                    worker=self._me,
                    folder=_folder_for(fleet, host.name),
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
            group = next(iter(open_for(change.fleet, shift.host)), None)
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

    def show_trees(self, number: int, trees: tuple[SideTree, ...]) -> None:
        """Write down which trees of a change the host of a shift has made."""
        with self._changing() as change:
            change.shift(number, trees=trees)

    def agreed_trees(self, *, now: bool = False) -> Fleet | None:
        """Return the fleet once its trees are settled, for good; None while a shift has not shown its own.

        Those that most hosts have are the fleet's; of a tie, those of the earliest host of the pool. `now`: wait for nobody.
        """
        with self._changing() as change:
            fleet = self._without_dead(change.fleet)
            change.fleet = fleet
            if fleet.trees:
                return fleet
            measuring = [s for s in fleet.shifts if s.state is ShiftState.MEASURING]
            shown = [s for s in measuring if s.trees]
            if not shown or (len(shown) < len(measuring) and not now):
                return None
            change.fleet = settled(fleet, shown)
            return change.fleet

    def refused_side(self, number: int, fault: tuple[str, str, str]) -> None:
        """Write down why the change could not be made on the host of a shift."""
        with self._changing() as change:
            change.shift(number, side_fault=fault)

    def told(self, words: str) -> None:
        with self._changing() as change:
            if words not in change.fleet.words:
                change.fleet = change.fleet.model_copy(update={"words": (*change.fleet.words, words)})

    def give_up(self, groups: tuple[str, ...], why: str) -> None:
        """Write down why groups are measured by nobody. What is measured already, or by somebody now, is left alone."""
        with self._changing() as change:
            left = {g: why for g in groups if g in unfinished(change.fleet)}
            change.fleet = change.fleet.model_copy(update={"unmeasured": {**change.fleet.unmeasured, **left}})

    def over(self) -> bool:
        """Say whether every group is measured, on as many hosts as it should be, or will never be."""
        return not unfinished(self.read())

    def at_work(self) -> tuple[Shift, ...]:
        """Return the shifts that living workers measure now."""
        with self._changing() as change:
            change.fleet = self._without_dead(change.fleet)
            return tuple(s for s in change.fleet.shifts if s.state is ShiftState.MEASURING)

    def unfinished(self) -> tuple[str, ...]:
        return unfinished(self.read())

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


def _folder_for(fleet: Fleet, host: str) -> str:
    """Return a folder that is no other shift's, nor the first one of a host that happens to be called "gpu7-2"."""
    taken = {shift.folder for shift in fleet.shifts} | {
        f"{HOSTS}/{h.name}" for h in fleet.hosts if h.name != host
    }
    every = (f"{HOSTS}/{host}" + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(folder for folder in every if folder not in taken)


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
