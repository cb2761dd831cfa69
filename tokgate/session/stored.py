"""A session that is over: the same evidence, read from its run folder."""

from __future__ import annotations

from pathlib import Path

from tokgate.errors import BenchFault
from tokgate.records import CleanSlate, Fingerprint, Launch, LaunchEvidence, RunEvidence
from tokgate.records.side import SidesMade
from tokgate.rig.models import Rig

from .loaded import load_once
from .rounds import Rounds, plain_rounds


class StoredSession:
    """Judges again what a folder holds; nothing is launched. UsageError when the folder is not whole."""

    def __init__(self, folder: Path) -> None:
        self._evidence: RunEvidence
        self.rig: Rig
        self._evidence, self.rig = load_once(folder)

    def open(self) -> None:
        """BenchFault when the stored session itself could not begin."""
        if self._evidence.info.fault is not None:
            tried, found, do = self._evidence.info.fault
            raise BenchFault(tried=tried, found=found, do=do)

    def close(self) -> None:
        pass

    @property
    def fingerprint(self) -> Fingerprint | None:
        return self._evidence.fingerprint

    @property
    def slate_at_start(self) -> CleanSlate | None:
        return self._evidence.slate_at_start

    @property
    def slate_at_end(self) -> CleanSlate | None:
        return self._evidence.slate_at_end

    @property
    def sides_made(self) -> SidesMade | None:
        """Return what the sides of a change were made of; None where none was measured."""
        return self._evidence.sides

    def is_measured(self, launch: Launch) -> bool:  # noqa: ARG002 - the answer is the same for all
        return True

    def holds(self, launch: Launch) -> bool:
        """Say whether there can be evidence of a launch: only of what the folder has."""
        return any(e.launch.id == launch.id for e in self._evidence.launches)

    def restarts(self) -> tuple[LaunchEvidence, ...]:
        """Return the server runs beyond the plan, in order."""
        return tuple(e for e in self._evidence.launches if e.launch.round and e.launch.role != "culprit")

    def searched(self) -> tuple[LaunchEvidence, ...]:
        """Return the server runs of a search for the part of a change that costs, in order."""
        return tuple(e for e in self._evidence.launches if e.launch.role == "culprit")

    def planned(self) -> tuple[LaunchEvidence, ...]:
        return tuple(e for e in self._evidence.launches if not e.launch.round)

    def measured(self, launch: Launch, rounds: Rounds = plain_rounds) -> LaunchEvidence:  # noqa: ARG002
        """Return what the folder holds of the launch; a launch it lacks is evidence of nothing."""
        found = next((e for e in self._evidence.launches if e.launch.id == launch.id), None)
        return found or LaunchEvidence(
            launch=launch, faults=("this launch was not made in the stored session",)
        )
