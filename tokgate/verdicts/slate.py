"""What a look at the host has against measuring there."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import CleanSlate
from tokgate.rig.machine import GpuSpec

from .shortfall import Shortfall


def unclean(slate: CleanSlate | None, spec: GpuSpec | None = None) -> Iterable[Shortfall]:
    """Yield one shortfall per thing that a clean machine would not have; nothing when it is clean.

    Processes of a gate run count even where the look made no finding of them, and so do (with `spec`, the rig's) its
    GPUs: a list that contradicts its own conclusion is not proof of anything.
    """
    if slate is None:
        yield Shortfall(
            what="nobody looked whether the machine is clean",
            do="start the session again: it looks at the host before every launch",
        )
        return
    for finding in slate.findings:
        if finding.severity == "unclean":
            yield Shortfall(what=finding.what, do=finding.do)
        elif finding.severity == "unknown":
            yield Shortfall(what=f"cannot be told: {finding.what}", do=finding.do)
    if slate.leftovers and slate.clean:
        pids = ", ".join(str(p.pid) for p in slate.leftovers)
        yield Shortfall(
            what=f"{len(slate.leftovers)} processes of a gate run are still there (pid {pids})",
            do=f"see whose they are, then stop them: ps -o pid,user,lstart,cmd -p {pids.replace(' ', '')}",
            evidence=tuple(f"pid {p.pid}, {p.user or 'user unknown'}: {p.cmdline}" for p in slate.leftovers),
        )
    if spec is not None:
        yield from contradicted_gpus(slate, spec)


def contradicted_gpus(slate: CleanSlate | None, spec: GpuSpec) -> Iterable[Shortfall]:
    """Yield what the GPUs of a slate without findings say against it: their number, and memory in use."""
    if slate is None or not slate.clean or not spec.count:
        return
    there = len({gpu.index for gpu in slate.gpus})
    if there != spec.count or len(slate.gpus) != there:
        yield Shortfall(
            what=f"the look {slate.when} lists {len(slate.gpus)} rows of {there} GPUs, the rig has {spec.count}, and "
            "nobody made a finding of it",
            do="judge the run folder as it was written; measure again",
        )
    for gpu in slate.gpus:
        # Below zero is no amount of memory.
        mib = gpu.allocated_mib if gpu.allocated_mib is not None and gpu.allocated_mib >= 0 else None
        if mib is not None and mib <= spec.tolerance_mib:
            continue
        amount = "an unknown amount of memory" if mib is None else f"{mib:.0f} MiB"
        yield Shortfall(
            what=f"GPU {gpu.index} has {amount} allocated {slate.when}, and nobody made a finding of it",
            do="judge the run folder as it was written; run nvidia-smi by hand and measure again",
        )
