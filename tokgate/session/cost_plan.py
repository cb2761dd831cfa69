"""Which starts tell what the probe costs: each judged start has a twin of the same prompts without the probe."""

from __future__ import annotations

from dataclasses import replace

from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.rig.workload import WorkloadSpec

from .plan import Batch, batches_of


def paired_batches(workload: WorkloadSpec, pairs: int) -> tuple[Batch, ...]:
    """Return warm-ups, then pairs of starts, on and off, off and on, and so on, so that a drift cancels.

    Starts with the probe on are the workload's own; beyond its repeats they are none of its numbers. Beyond `pairs`
    they have no twin.
    """
    longer = workload.model_copy(update={"repeats": max(workload.repeats, pairs)})
    found: list[Batch] = []
    for batch in batches_of(longer):
        if batch.warmup:
            found.append(batch)
            continue
        number = batch.number - workload.warmup
        on = replace(batch, workload=workload.name if number < workload.repeats else PROBE_ON, switch=True)
        off = replace(batch, workload=PROBE_OFF, switch=False)
        if number >= pairs:
            found.append(on)
        else:
            found += [off, on] if number % 2 else [on, off]
    return tuple(found)
