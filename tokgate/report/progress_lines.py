"""Progress as plain lines, for a log: each stage, a finished start now and then, and a sign of life in every silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tokgate.records.progress import (
    Judged,
    LaunchEnded,
    PlanMade,
    ProgressEvent,
    StageBegan,
    StartTaken,
    Words,
)

from . import durations, progress_words
from .progress_plan import lines as plan_lines
from .progress_state import Standing
from .progress_view import OVER, View
from .visible import one_line, wrapped

SAYS = "tokgate"
_TIME = 7  # of "1:02:03"
STARTS_EVERY_S = 10.0  # a finished start is worth a line where nothing was written for so long
# CI systems end a job that is silent for minutes (Travis: 10); people look sooner.
ALIVE_EVERY_S = 30.0


@dataclass
class Lines:
    """`write` gets whole lines, without their ends; `clock`: seconds, monotonic."""

    write: Callable[[list[str]], None]
    clock: Callable[[], float]
    width: int = 80
    alive_every_s: float = ALIVE_EVERY_S
    _standing: Standing = field(init=False)
    _told_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._standing = Standing(self.clock)
        self._told_at = self.clock()

    def hear(self, event: ProgressEvent) -> None:
        """Write what an event is worth."""
        view = self._standing.hear(event)
        if isinstance(event, PlanMade):
            self.write(list(plan_lines(event.plan, width=self.width)))
            self._told_at = self.clock()
        elif isinstance(event, Words):
            self._tell(event.text)
        elif isinstance(event, StageBegan):
            self._tell("  ".join(filter(None, (_where(view), progress_words.doing(view)))))
        elif isinstance(event, StartTaken):
            if event.failed or self.clock() - self._told_at >= STARTS_EVERY_S:
                self._tell(_taken(view))
        elif isinstance(event, Judged):
            self._tell(progress_words.judged(event.outcome, event.reason))
        elif isinstance(event, LaunchEnded) and event.started:  # why one was not started has been told
            took = f"took {durations.words(event.seconds)}" if event.seconds is not None else "broke off"
            left = "" if view.phase == OVER else f", {progress_words.left(view, self.clock())}"
            self._tell(f"{event.launch}  {took}; {self._standing.counted}{left}")

    def still(self) -> list[str]:
        """Return a sign of life where nothing has been written for so long; [] otherwise, or between stages."""
        view, now = self._standing.view, self.clock()
        if view.stage is None or now - self._told_at < self.alive_every_s:
            return []
        self._told_at = now
        return self._rows(f"{_taken(view)}  still at it, {progress_words.left(view, now)}")

    def next_in(self) -> float:
        """Return in how many seconds `still` is worth asking."""
        return max(0.0, self.alive_every_s - (self.clock() - self._told_at))

    def _tell(self, words: str) -> None:
        self._told_at = self.clock()
        self.write(self._rows(words))

    def _rows(self, words: str) -> list[str]:
        first = self._head()
        return wrapped(words, self.width, first=first, indent=" " * len(first))

    def _head(self) -> str:
        return f"{SAYS}{durations.clock(self.clock() - self._standing.view.began):>{_TIME}}  "


def _where(view: View) -> str:
    """Return "01-baseline 1/5", or "06-baseline-restart-1": a restart says by its name that it is one."""
    if view.launch is None:
        return ""
    number = f" {view.number}/{view.planned}" if view.number and not view.restart else ""
    return f"{one_line(view.launch, 60)}{number}"


def _taken(view: View) -> str:
    parts = (_where(view), progress_words.doing(view), progress_words.count(view), progress_words.rates(view))
    return "  ".join(part for part in parts if part)
