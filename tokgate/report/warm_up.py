"""One launch whose first value lies off beside others of the workload: a disturbance, or a warm-up that is too short."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.unsteady import begins_off, warm_up_do


def with_warm_ups(rig: Rig, evidence: RunEvidence, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts; where a first value is the next step, that step says what the other launches show.

    A check sees its own launch alone, and that one may be judged before the others were measured.
    """
    steps = {warm_up_do(w.name): do for w in rig.workloads if (do := _do(rig, evidence, w.name)) is not None}
    return tuple(v.model_copy(update={"do": steps[v.do]}) if v.do in steps else v for v in verdicts)


def _do(rig: Rig, evidence: RunEvidence, workload: str) -> str | None:
    """Return what to do about it; None where there is no second launch to compare with."""
    seen = {e.launch.id: off for e in evidence.launches if (off := begins_off(rig, e, workload)) is not None}
    late = [name for name, off in seen.items() if off]
    if not late or len(seen) < 2:
        return None
    if len(late) > 1:
        return f"raise warmup of {workload} by one: {len(late)} of {len(seen)} launches begin so"
    return (
        f"measure again: of {len(seen)} launches of {workload} {late[0]} alone began so, so its warm-up is long enough; "
        "look at what loaded the machine at that time (other processes, clocks, heat), not at the rig"
    )
