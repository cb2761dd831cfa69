"""What a verdict lacks where further generations of a workload would help, and no restart would."""

from __future__ import annotations

from tokgate.rig.models import Rig


def more_starts(rig: Rig, number: int, workload: str) -> str | None:
    """Return "2 more generations of single", "2 more starts of conc8 (16 generations)"; None where none is missing."""
    if number < 1:
        return None
    plural = "" if number == 1 else "s"
    streams = next((w.concurrency for w in rig.workloads if w.name == workload), 1)
    if streams == 1:
        return f"{number} more generation{plural} of {workload}"
    return f"{number} more start{plural} of {workload} ({number * streams} generations)"
