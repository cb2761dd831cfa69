"""Obeys a search for the part of a change that costs: makes the sides it asks for and measures them, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from tokgate.records import Launch, LaunchEvidence, SamplingStep
from tokgate.records.progress import AskedRestart
from tokgate.records.side import BASE, WITHOUT, SidesMade
from tokgate.rig.models import Rig
from tokgate.stats.next_prefixes import Done, Round, opening
from tokgate.verdicts.culprit_step import TakeOut, left_of, next_of, run_s
from tokgate.verdicts.searched import Searched, name_of, searched, why_broken

from .culprit_plan import search_launch
from .obeying import Measures, Obeying
from .progress import Progress, unheard


class Searches(Measures, Protocol):
    """What a search needs of a session."""

    @property
    def sides_made(self) -> SidesMade | None: ...
    def searched(self) -> tuple[LaunchEvidence, ...]: ...


class Looked(NamedTuple):
    """What was measured so far, and what comes of it."""

    found: Searched
    step: Round | TakeOut | Done


class CulpritSearch(Obeying[Searches, Looked]):
    """One session's search."""

    _first_is_planned = True

    def __init__(
        self,
        *,
        rig: Rig,
        session: Searches,
        behind: Callable[[], int],
        say: Callable[[str], None],
        keep: Callable[[SamplingStep], None] | None,
        progress: Progress = unheard,
    ) -> None:
        """`behind`: the last number that is taken; at first, the one before that of the search's first launch. The others as in Obeying."""
        super().__init__(rig=rig, session=session, say=say, keep=keep, progress=progress)
        self._behind = behind

    def run(self) -> tuple[LaunchEvidence, ...]:
        """Search until there is nothing left to ask or to spend; the second call returns what the first one measured."""
        if not self._done:
            self._tell_before()
        self.settle()
        return self._session.searched()

    def _decide(self) -> Looked:
        found = self._look()
        return Looked(found, next_of(self._rig, found))

    def _launches(self, decision: Looked, number: int) -> tuple[Launch, ...]:
        return launches_of(self._rig, *decision, number=number, behind=self._behind())

    def _say_decided(self, decision: Looked, number: int) -> None:
        over = isinstance(decision.step, Done)
        self._say(f"{'the search is over' if over else f'culprit, look {number}'}: {decision.step.reason}")

    def _unobeyed(self, decision: Looked) -> str | None:
        if isinstance(decision.step, Done) or not decision.found.launches:
            return None
        return f"the search would go on: {decision.step.reason}"

    def _look(self) -> Searched:
        return searched(self._rig, self._session.searched(), self._session.sides_made)

    def _obey(self, _: Looked, launches: Sequence[Launch]) -> None:
        """Measure; the rest of a look is left where a run ends badly: what is to be done then is decided anew."""
        for launch in launches:
            found = self._session.measured(launch)
            broken = why_broken(found, self._session.sides_made)
            if broken is not None:
                self._say(f"{launch.id}: side {launch.side} {broken}")
            if broken is not None or found.failure is not None or found.faults or found.server is None:
                return

    def _tell_before(self) -> None:
        if self._keep is None or self._session.searched():
            return
        found, spec = self._look(), self._rig.sampling
        question, steps = found.question, found.changes
        first = len(opening(steps).prefixes)
        idle = len(found.units) - steps if steps < len(found.units) else 0
        told = f"; {idle} of {len(found.units)} change nothing that a server imports" if idle else ""
        self._say(
            f"culprit: {steps} step{'' if steps == 1 else 's'} to tell apart on {question.arm} in {question.workload}{told}; {first} server "
            f"runs first, then as many as it takes within {spec.gpu_time_s:g} s (sampling.gpu_time_s), {spec.most_restarts} "
            f"restarts of a side at most; two of every prefix would be {2 * (steps + 1)}"
        )

    def _asked(self, launch: Launch) -> AskedRestart:
        return AskedRestart(launch=launch.id, seconds=run_s(self._session.searched()))

    def _step(self, decision: Looked, number: int, launches: Sequence[Launch]) -> SamplingStep:
        found, step = decision
        named = {(a, b): f"units {found.places[a] + 1} to {found.places[b]}" for a, b in _open(step)}
        return SamplingStep(
            round=number,
            stop=isinstance(step, Done),
            reason=step.reason,
            launches=tuple(one.id for one in launches),
            expected_s=len(launches) * run_s(found.launches),
            left_s=left_of(self._rig, found.launches),
            budget_s=self._rig.sampling.gpu_time_s,
            unsettled=tuple(named.values()),
        )


def launches_of(
    rig: Rig, found: Searched, step: Round | TakeOut | Done, *, number: int, behind: int
) -> tuple[Launch, ...]:
    """Return the launches of one decision; `behind`: the last number that is taken."""
    if isinstance(step, Done):
        return ()
    if isinstance(step, TakeOut):
        sides = [*(f"{WITHOUT}{unit}" for unit in step.units), BASE]
    else:
        sides = [name_of(found, prefix) for prefix in step.prefixes]
    return tuple(
        search_launch(rig, side, number=behind + place, decision=number)
        for place, side in enumerate(sides, start=1)
    )


def _open(step: Round | TakeOut | Done) -> tuple[tuple[int, int], ...]:
    return step.open if isinstance(step, Done) else ()
