"""Texts of a launch as they are read back: what no gate wrote, megabytes of one fault, would be repeated by every verdict."""

from __future__ import annotations

from tokgate.records import Generation, LaunchEvidence

MOST = 4000  # characters; what a session writes of a fault, a log line or an HTTP body stays below


def cut(text: str) -> str:
    """Return the beginning of a text that is longer than `MOST`, and how long it is."""
    return text if len(text) <= MOST else f"{text[:MOST]} … [cut here: {len(text):,} characters]"


def shortened(evidence: LaunchEvidence) -> LaunchEvidence:
    """Return a launch without its texts' excess: faults, notes, why it did not start, why it is gone."""
    changes: dict[str, object] = {
        "faults": tuple(map(cut, evidence.faults)),
        "notes": tuple(map(cut, evidence.notes)),
    }
    failure, liveness = evidence.failure, evidence.liveness
    if failure is not None:
        changes["failure"] = failure.model_copy(
            update={
                "headline": cut(failure.headline),
                "do": cut(failure.do),
                "evidence": tuple(map(cut, failure.evidence)),
                "log_tail": tuple(map(cut, failure.log_tail)),
            }
        )
    if liveness is not None and liveness.why is not None:
        changes["liveness"] = liveness.model_copy(update={"why": cut(liveness.why)})
    return evidence.model_copy(update=changes)


def shortened_why(generation: Generation) -> Generation:
    """Return a generation without the excess of why it failed."""
    why = generation.why
    return generation if why is None or len(why) <= MOST else generation.model_copy(update={"why": cut(why)})
