"""Obeys the stop rule: measures what it asks for until it stops, before any number is concluded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tokgate.records import Launch, LaunchEvidence, SamplingStep, Verdict
from tokgate.records.progress import AskedRestart
from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s
from tokgate.verdicts.phases_of_change import reckoned_s
from tokgate.verdicts.sampling import costs_of, left_of, next_step, wanted_words
from tokgate.verdicts.stop_rule import More, Stop
from tokgate.verdicts.subjects import subject_of

from .obeying import Measures, Obeying
from .preamble import possible_launches
from .progress import Progress, unheard
from .restarts import restart_launches


class Restarts(Measures, Protocol):
    """What sampling needs of a session."""

    def restarts(self) -> tuple[LaunchEvidence, ...]:
        """Return the server runs beyond the plan, in order."""


class Sampling(Obeying[Restarts, Stop | More]):
    """One session's restarts beyond its plan."""

    def __init__(
        self,
        *,
        rig: Rig,
        session: Restarts,
        planned: Callable[[], Sequence[LaunchEvidence]],
        ask: Callable[[], Sequence[Verdict]],
        say: Callable[[str], None],
        keep: Callable[[SamplingStep], None] | None,
        progress: Progress = unheard,
    ) -> None:
        """`planned`: what was measured of the plan; `ask`: the verdicts as they would be now. The others as in Obeying."""
        super().__init__(rig=rig, session=session, say=say, keep=keep, progress=progress)
        self._planned = planned
        self._ask = ask

    def _decide(self) -> Stop | More:
        return next_step(self._rig, self._launches_so_far(), self._ask())

    def _launches_so_far(self) -> tuple[LaunchEvidence, ...]:
        return (*self._planned(), *self._session.restarts())

    def _obey(self, decision: Stop | More, launches: Sequence[Launch]) -> None:
        """Measure what was asked for; less where a server ends badly or the time is up: the rule is asked again then."""
        for launch in launches:
            if self._asked(launch).seconds > self._left_s():
                self._say(f"{launch.id} is left out: {self._left_words()}, and its last run took more")
                continue  # the control behind it may still fit
            closes = launch is launches[-1] and len(launches) > 1 and launch.arm == self._rig.control.name
            why = "it closes the round, so that a drift shows" if closes else decision.reason
            self._say(f"{_named(launch)}: {why}; {self._left_words()}")
            found = self._session.measured(launch)
            if found.failure is not None or found.faults:
                return

    def _asked(self, launch: Launch) -> AskedRestart:
        reckoned = reckoned_s(subject_of(launch) or "", costs_of(self._launches_so_far()))
        return AskedRestart(launch=launch.id, seconds=reckoned)

    def _left_s(self) -> float:
        return left_of(self._rig, self._session.restarts())

    def _left_words(self) -> str:
        return f"{self._left_s():.0f} s of {restart_budget_s(self._rig):.0f} s left"

    def _launches(self, decision: Stop | More, number: int) -> tuple[Launch, ...]:
        if isinstance(decision, Stop):
            return ()
        return restart_launches(
            decision.runs,
            decision.workloads,
            number=number,
            planned=possible_launches(self._rig),
            made=[e.launch for e in self._session.restarts()],
        )

    def _step(self, decision: Stop | More, number: int, launches: Sequence[Launch]) -> SamplingStep:
        return SamplingStep(
            round=number,
            stop=isinstance(decision, Stop),
            reason=decision.reason,
            launches=tuple(launch.id for launch in launches),
            expected_s=decision.cost_s if isinstance(decision, More) else 0.0,
            left_s=self._left_s(),
            budget_s=restart_budget_s(self._rig),
            unsettled=decision.unsettled,
            hopeless=decision.hopeless,
        )

    def _say_decided(self, decision: Stop | More, number: int) -> None:  # noqa: ARG002 - its reason is told launch by launch
        if isinstance(decision, Stop):
            self._say(f"no further restart: {decision.reason}")

    def _unobeyed(self, decision: Stop | More) -> str | None:
        if isinstance(decision, Stop):
            return None
        return f"the stop rule would go on with {wanted_words(decision)} ({decision.reason})"


def _named(launch: Launch) -> str:
    """Return "restart 2 of eagle3-2step"."""
    with_instruments = ", with instruments" if launch.carries else ""
    side = f", {launch.side}" if launch.side is not None else ""
    return f"restart {launch.id.rpartition('-')[2]} of {launch.arm}{side}{with_instruments}"
