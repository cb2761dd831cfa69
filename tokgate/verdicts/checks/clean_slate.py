"""Promise: nothing of anyone's is on the machine before a launch, and nothing of ours after the session."""

from __future__ import annotations

from tokgate.records import CleanSlate, Outcome, Verdict
from tokgate.rig.machine import GpuSpec
from tokgate.verdicts.slate import unclean

CHECK = "clean_slate"


def clean_slate(slate: CleanSlate | None, spec: GpuSpec | None = None) -> tuple[Verdict, ...]:
    """Pass, or one `invalid` verdict per thing found, each with its own next step. `spec`: what the rig says."""
    shortfalls = tuple(unclean(slate, spec))
    when = slate.when if slate is not None else "at a time unknown"
    if shortfalls or slate is None:
        return tuple(
            Verdict(
                check=CHECK,
                outcome=Outcome.INVALID,
                headline=f"not clean {when}: {s.what}",
                evidence=s.evidence,
                do=s.do,
            )
            for s in shortfalls
        )
    gpus = f"{len(slate.gpus)} GPUs" if slate.gpus else "no GPU expected"
    waited = f" after waiting {slate.waited_s:.0f} s" if slate.waited_s >= 1 else ""
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS,
            headline=f"clean {when}: {gpus} on {slate.host}, no process of a gate run{waited}",
            n=1,
            evidence=tuple(
                f"GPU {g.index} {g.name or 'name unknown'}: "
                + (f"{g.allocated_mib:.0f} MiB allocated" if g.allocated_mib is not None else "not told")
                for g in slate.gpus
            ),
            warnings=tuple(f.what for f in slate.findings),
        ),
    )
