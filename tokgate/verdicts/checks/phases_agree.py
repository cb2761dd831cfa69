"""Promise: sources that measure the same phase of the same load say the same, within stated limits."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.phases import DO, establish_phases, why_no_verify
from tokgate.verdicts.shortfall import Shortfall

CHECK = "phases_agree"


def phases_agree(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge every pair of sources. invalid: a pair is further apart than its limit; inconclusive: there is no pair."""
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    pairs = [a for a in launch.phases.agreements if a.workload == workload] if launch.phases else []
    if not pairs:
        shortfall = Shortfall(what=f"nothing to compare: {why_no_verify(launch)}", do=DO)
        verdict = invalid(CHECK, [shortfall], launch=launch, workload=workload, raw=established.raw)
        return (verdict.model_copy(update={"outcome": Outcome.INCONCLUSIVE}),)
    apart = [
        Shortfall(
            what=a.words,
            do="believe none of the two before it is known which is wrong: look at the clocks, the load and the "
            "warnings of each reading in verdict.json",
            evidence=(f"the limits: {a.reason}",),
        )
        for a in pairs
        if not a.agrees
    ]
    if apart:
        return (invalid(CHECK, apart, launch=launch, workload=workload, n=len(pairs), raw=established.raw),)
    furthest = max(pairs, key=lambda a: abs(a.apart))
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS,
            headline=f"phases of {launch.launch.arm}: {len(pairs)} pairs of sources agree; "
            f"furthest apart {furthest.words}",
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            n=len(pairs),
            evidence=tuple(a.words for a in pairs),
            raw=established.raw,
        ),
    )
