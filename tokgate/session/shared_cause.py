"""A start that failed for a cause that other launches of the rig have as well: trying them costs GPU time for nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import Launch, LaunchEvidence, StartCause
from tokgate.rig.models import Rig

from .refused import by_every_server

_SHARED = {
    StartCause.NO_PYTHON,
    StartCause.NO_MODULE,
    StartCause.NO_MODEL,
    StartCause.LOG_NOT_WRITABLE,
    StartCause.NO_SUPERVISOR,
}


def shared_cause(measured: Iterable[LaunchEvidence], launch: Launch, rig: Rig) -> LaunchEvidence | None:
    """Return the first launch that failed for a cause that this one shares, if one has.

    What does not start on one side of a change may on the other: that is the change's doing.
    """
    for evidence in measured:
        if evidence.launch.side != launch.side:
            continue
        failure = evidence.failure
        first = evidence.launch.role in ("control", "nccl-proof", "sweep-control")
        if (
            first
            and failure
            and (failure.cause in _SHARED or by_every_server(rig, evidence.launch.arm, failure))
        ):
            return evidence
    return None
