"""Where a session stands, folded from its events: what a display shows of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tokgate.records.progress import (
    LaunchEnded,
    PlanMade,
    PlannedLaunch,
    ProgressEvent,
    SessionPlan,
    StageBegan,
    StartTaken,
)

from .progress_view import View


@dataclass
class Standing:
    """`clock`: seconds, monotonic; the same that the display reads."""

    clock: Callable[[], float]
    view: View = field(default_factory=View)
    _plan: SessionPlan | None = None
    _began: dict[str, float] = field(default_factory=dict)
    _ended: dict[str, float | None] = field(default_factory=dict)

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
            self.view = self._between()
        elif event.kind == "opened":
            self.view = self._between()
        ends_at, share = self._end()
        self.view = replace(self.view, ends_at=ends_at, share=share)
        return self.view

    @property
    def counted(self) -> str:
        """Return "3 of 5 launches done"."""
        planned = self._launches()
        done = sum(launch.launch in self._ended for launch in planned)
        more = len(self._ended) - done
        restarts = f" and {more} restart{'' if more == 1 else 's'}" if more else ""
        return (
            f"{done} of {len(planned)} launches{restarts} done"
            if planned
            else f"{len(self._ended)} launches done"
        )

    @property
    def all_done(self) -> bool:
        """Say whether every planned launch is over."""
        return bool(self._launches()) and all(launch.launch in self._ended for launch in self._launches())

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

    def _end(self) -> tuple[float | None, float | None]:
        """Return when the session is likely to be over, and which share of it is behind."""
        if not self._launches() or self._plan is None:
            return None, None
        now, left, whole = self.clock(), [], []
        for launch in self._launches():
            likely = self._likely(launch)
            if likely is None:
                return None, None
            whole.append(likely)
            if launch.launch not in self._ended:
                left.append(max(0.0, likely - (now - self._began.get(launch.launch, now))))
        names = {launch.launch for launch in self._launches()}
        restarted = any(name not in names for name in self._began)
        if self._plan.restarts is not None and not restarted:
            left.append(self._plan.restarts.least_s)
            whole.append(self._plan.restarts.least_s)
        remaining = math.fsum(left)
        share = 1.0 - remaining / total if (total := math.fsum(whole)) > 0 else None
        return now + remaining, share

    def _likely(self, launch: PlannedLaunch) -> float | None:
        """Return what a launch takes: as planned, or by what launches of this session have taken."""
        if launch.seconds.likely is not None:
            return launch.seconds.likely
        known = {one.launch: one for one in self._launches()}
        ended = [
            (known[name], took) for name, took in self._ended.items() if name in known and took is not None
        ]
        around = [took - one.taking_s for one, took in ended if one.taking_s is not None]
        if launch.taking_s is not None and around:
            return launch.taking_s + max(0.0, statistics.median(around))
        alike = [took for one, took in ended if bool(one.work) == bool(launch.work)]
        return statistics.median(alike) if alike else None
