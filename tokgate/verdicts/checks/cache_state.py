"""Promise: no prompt was answered from the prefix cache, as every workload declares."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.cached import cached
from tokgate.verdicts.establish import establish_workload, invalid

CHECK = "cache_state"


def cache_state(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Both `flush` and `unique` promise 0 cached tokens; anything else, or silence, is `invalid`."""
    established = establish_workload(rig, launch, workload, check=CHECK, whole=False)
    if isinstance(established, Verdict):
        return (established,)
    spec = rig.workload(workload)
    shortfall = cached(established.good, spec)
    if shortfall is not None:
        return (invalid(CHECK, [shortfall], launch=launch, workload=workload, raw=established.raw),)
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS,
            headline=f"no cached token in {len(established.good)} prompts of {workload} on {launch.launch.id} "
            f"({spec.cache})",
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            value=0.0,
            unit="tokens",
            n=len(established.good),
            raw=established.raw,
        ),
    )
