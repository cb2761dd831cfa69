"""A side of a change whose server does not start where the other's does: nothing can be compared, whatever else is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig

from .side_faults import does_not_compile, is_of_the_bench

_OTHER = {BASE: HEAD, HEAD: BASE}


class LostSide(NamedTuple):
    side: str
    evidence: LaunchEvidence  # of the launch that did not start

    @property
    def arm(self) -> str:
        return self.evidence.launch.arm

    def everywhere(self, rig: Rig) -> bool:
        """Say whether no other arm starts from that side either: the control's is the plainest server there is."""
        return self.arm == rig.control.name or does_not_compile(self.evidence)


def lost_sides(launches: Sequence[LaunchEvidence]) -> Iterator[LostSide]:
    """Yield each side that an arm was shown not to start from, in order of time.

    Shown: its sources do not compile, or the same arm has started from the other side and never from this one.
    """
    for evidence in launches:
        launch, failure = evidence.launch, evidence.failure
        if failure is None or launch.side not in _OTHER or not launch.timed or launch.role == "culprit":
            continue
        if is_of_the_bench(failure.cause):
            continue
        started = {e.launch.side for e in launches if e.launch.arm == launch.arm and e.server is not None}
        if does_not_compile(evidence) or (_OTHER[launch.side] in started and launch.side not in started):
            yield LostSide(launch.side, evidence)
