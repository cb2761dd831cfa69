"""The rig as a launch with instruments has it."""

from __future__ import annotations

from .models import Rig


def instrumented(rig: Rig) -> Rig:
    """Return the rig with no more repeats than its [instruments] allow; everything else stays."""
    most = rig.instruments.repeats
    if most is None:
        return rig
    capped = tuple(w.model_copy(update={"repeats": min(w.repeats, most)}) for w in rig.workloads)
    return rig.model_copy(update={"workloads": capped})
