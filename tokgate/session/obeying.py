"""A rule that says what to measure next is asked, its answer written down and obeyed, and it is asked again, until it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from tokgate.records import Launch, LaunchEvidence, SamplingStep
from tokgate.records.progress import AskedRestart, RestartsDecided
from tokgate.rig.models import Rig

from .progress import Progress, unheard

Decision = TypeVar("Decision")


class Measures(Protocol):
    """What a rule is obeyed with."""

    def measured(self, launch: Launch) -> LaunchEvidence: ...


Session = TypeVar("Session", bound=Measures)


class Obeying(ABC, Generic[Session, Decision]):
    """One session's. Nothing measured is replaced or left out, whatever comes of it."""

    _first_is_planned = False  # what it asks for first is in the session's plan

    def __init__(
        self,
        *,
        rig: Rig,
        session: Session,
        say: Callable[[str], None],
        keep: Callable[[SamplingStep], None] | None,
        progress: Progress = unheard,
    ) -> None:
        """`keep`: writes a decision down before it is obeyed; None: a stored session, of which nothing is measured."""
        self._rig = rig
        self._session = session
        self._say = say
        self._keep = keep
        self._progress = progress
        self._done = False

    def settle(self) -> None:
        """Measure until the rule stops; the second call does nothing."""
        if self._done:
            return
        # However it ends: a decision that failed is not taken again for each test that follows.
        self._done = True
        number, goes_on = 0, True
        while goes_on:
            number += 1
            goes_on = self._once(number)

    def _once(self, number: int) -> bool:
        """Ask and obey once; return whether to ask again."""
        decision = self._decide()
        if self._keep is None:
            if (words := self._unobeyed(decision)) is not None:
                self._say(f"{words}; a stored run is only judged, nothing is started")
            return False
        launches = self._launches(decision, number)
        step = self._step(decision, number, launches)
        self._keep(step)
        if number > 1 or not self._first_is_planned:
            self._progress(RestartsDecided(launches=tuple(map(self._asked, launches))))
        self._say_decided(decision, number)
        if not step.stop:
            self._obey(decision, launches)
        return not step.stop

    @abstractmethod
    def _decide(self) -> Decision: ...
    @abstractmethod
    def _launches(self, decision: Decision, number: int) -> tuple[Launch, ...]: ...
    @abstractmethod
    def _step(self, decision: Decision, number: int, launches: Sequence[Launch]) -> SamplingStep: ...
    @abstractmethod
    def _asked(self, launch: Launch) -> AskedRestart: ...
    @abstractmethod
    def _say_decided(self, decision: Decision, number: int) -> None: ...
    @abstractmethod
    def _obey(self, decision: Decision, launches: Sequence[Launch]) -> None: ...
    @abstractmethod
    def _unobeyed(self, decision: Decision) -> str | None:
        """Return what it would go on with, in a session that measures nothing any more; None: nothing."""
