"""Where a session stands, folded from its events: what a display shows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tokgate.records.progress import (
    LaunchEnded,
    PlanMade,
    PlannedLaunch,
    ProgressEvent,
    RestartsDecided,
    SessionPlan,
    StageBegan,
    StartTaken,
)

from .progress_time import Course, Reckoned
from .progress_view import DECIDING, OVER, PLANNED, RESTARTS, View


@dataclass
class Standing:
    """`clock`: seconds, monotonic; the same that the display reads."""

    clock: Callable[[], float]
    view: View = field(default_factory=View)
    _plan: SessionPlan | None = None
    _began: dict[str, float] = field(default_factory=dict)
    _ended: dict[str, float | None] = field(default_factory=dict)
    _not_started: set[str] = field(default_factory=set)
    _asked: dict[str, float] | None = (
        None  # restarts asked for and their seconds; None: nothing was decided yet
    )
    _stopped: bool = False

    def __post_init__(self) -> None:
        self.view = View(began=self.clock())

    def hear(self, event: ProgressEvent) -> View:
        """Fold one event in; return how things stand then."""
        if isinstance(event, PlanMade):
            self._plan = event.plan
            self.view = replace(self.view, rig=event.plan.rig, simulated=event.plan.simulated)
        elif isinstance(event, StageBegan):
            self._stage(event)
        elif isinstance(event, StartTaken):
            self._taken(event)
        elif isinstance(event, LaunchEnded):
            self._ended[event.launch] = event.seconds
            if not event.started:
                self._not_started.add(event.launch)
            self.view = self._between()
        elif isinstance(event, RestartsDecided):
            self._decided(event)
        elif event.kind == "opened":
            self.view = self._between()
        self.view = replace(
            self.view, phase=self._phase(), restarts=self._restarts(), **self._reckoned()._asdict()
        )
        return self.view

    @property
    def counted(self) -> str:
        """Return "3 of 5 launches done"."""
        planned = self._launches()
        begun = self._ended.keys() - self._not_started
        done = sum(launch.launch in begun for launch in planned)
        more = len(begun) - done
        restarts = f" and {more} restart{'' if more == 1 else 's'}" if more else ""
        none = f", {len(self._not_started)} not started" if self._not_started else ""
        return (
            f"{done} of {len(planned)} launches{restarts} done{none}"
            if planned
            else f"{len(begun)} launches done{none}"
        )

    @property
    def all_done(self) -> bool:
        """Say whether every planned launch is over."""
        return bool(self._launches()) and all(launch.launch in self._ended for launch in self._launches())

    def _decided(self, event: RestartsDecided) -> None:
        # What an earlier decision asked for and nobody made is not made any more.
        made = {name: seconds for name, seconds in (self._asked or {}).items() if name in self._ended}
        self._asked = made | {one.launch: one.seconds for one in event.launches}
        self._stopped = not event.launches

    def _reckoned(self) -> Reckoned:
        if self._plan is None:
            return Reckoned()
        course = Course(
            plan=self._plan,
            began=self._began,
            ended=self._ended,
            not_started=self._not_started,
            asked=self._asked,
        )
        return course.reckon(self.clock())

    def _phase(self) -> str:
        if self._plan is None or not self.all_done:
            return PLANNED
        if self._plan.restarts is None or self._stopped:
            return OVER
        return RESTARTS if self._pending() else DECIDING

    def _restarts(self) -> int:
        if self._phase() == PLANNED:
            return int(self._plan is not None and self._plan.restarts is not None)
        return self._pending()

    def _pending(self) -> int:
        return sum(name not in self._ended for name in self._asked or {})

    def _between(self) -> View:
        return View(rig=self.view.rig, simulated=self.view.simulated, began=self.view.began)

    def _stage(self, event: StageBegan) -> None:
        if event.launch is None:
            self.view = replace(self._between(), stage=event.stage.value)
            return
        if event.launch not in self._began:
            self._began[event.launch] = self.clock()
        if event.launch != self.view.launch:
            self.view = self._between()
        # What a number was measured under is over with its workload.
        same = event.workload is not None and event.workload == self.view.workload
        self.view = replace(
            self.view,
            launch=event.launch,
            **self._place(event.launch),
            launch_began=self._began[event.launch],
            stage=event.stage.value,
            workload=event.workload,
            done=self.view.done if same else 0,
            of=event.generations,
            tok_s=self.view.tok_s if same else None,
            accept_length=self.view.accept_length if same else None,
        )

    def _taken(self, event: StartTaken) -> None:
        same = event.launch == self.view.launch
        self.view = replace(
            self.view,
            launch=event.launch,
            **self._place(event.launch),
            stage=event.stage.value,
            workload=event.workload,
            done=event.generations,
            of=event.of,
            streams=event.streams,
            failed=(self.view.failed if same else 0) + event.failed,
            tok_s=event.tok_s,
            accept_length=event.accept_length,
        )

    def _launches(self) -> tuple[PlannedLaunch, ...]:
        return self._plan.launches if self._plan is not None else ()

    def _place(self, launch: str) -> dict[str, Any]:
        names = [one.launch for one in self._launches()]
        if launch in names:
            return {"number": names.index(launch) + 1, "planned": len(names), "restart": False}
        others = [name for name in self._began if name not in names]
        number = others.index(launch) + 1 if names and launch in others else 0
        return {"number": number, "planned": len(names), "restart": bool(number)}
