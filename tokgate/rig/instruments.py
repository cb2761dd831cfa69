"""The rig as a launch with instruments has it."""

from __future__ import annotations

from .models import Rig
from .workload import WorkloadSpec

# Names under which starts are kept that are compared with each other and never judged as a workload.
PROBE_OFF = "probe-off"  # the prompts of a judged start, with the probe switched off
PROBE_ON = "probe-on"  # and with it on, where there are more pairs than judged starts


def instrumented(rig: Rig) -> Rig:
    """Return the rig with the workloads and no more repeats than its [instruments] allow; everything else stays."""
    spec = rig.instruments
    taken = [w for w in rig.workloads if spec.workloads is None or w.name in spec.workloads]
    return rig.model_copy(update={"workloads": tuple(_capped(w, spec.repeats) for w in taken)})


def cost_pairs(rig: Rig) -> int:
    """Return how many pairs of starts tell what the probe costs, in the first workload of `instrumented(rig)`."""
    asked = rig.instruments.cost_pairs
    return instrumented(rig).workloads[0].repeats if asked is None else asked


def _capped(workload: WorkloadSpec, most: int | None) -> WorkloadSpec:
    return workload if most is None else workload.model_copy(update={"repeats": min(workload.repeats, most)})
