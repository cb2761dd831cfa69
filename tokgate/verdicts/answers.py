"""What the answers of a workload have against being judged: failed, strange, too few, in the wrong company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tokgate.records import Generation, LaunchEvidence
from tokgate.rig.workload import WorkloadSpec

from .shortfall import Shortfall


def crowded(launch: LaunchEvidence, spec: WorkloadSpec) -> Iterable[Shortfall]:
    """Yield the barrier starts that had more or less company than the workload declares."""
    sizes = Counter(g.batch for g in launch.generations if g.workload == spec.name and not g.warmup)
    odd = {batch: size for batch, size in sorted(sizes.items()) if size != spec.concurrency}
    if odd:
        batch, size = next(iter(odd.items()))
        yield Shortfall(
            what=f"start {batch} of {spec.name} had {size} generations at concurrency {spec.concurrency}",
            do="measure again: a number belongs to the load it was measured under",
        )


def unusable(
    mine: tuple[Generation, ...],
    good: tuple[Generation, ...],
    *,
    launch_id: str,
    workload: str,
    at_least: int,
) -> Iterable[Shortfall]:
    """Yield what is wrong with all generations of a workload (`mine`), and with the good ones after the warm-up."""
    failed = [g for g in mine if not g.good]
    if failed:
        counts = ", ".join(f"{n} {status}" for status, n in Counter(g.status.value for g in failed).items())
        first = failed[0]
        yield Shortfall(
            what=f"{len(failed)} of {len(mine)} generations failed ({counts}): {first.why or 'no reason kept'}",
            do="read the server's log and the raw body of the first failure",
            evidence=tuple(f"{g.request_id}: {g.status.value}, {g.why}" for g in failed[:5]),
        )
    strangers = sorted({g.launch for g in mine} - {launch_id})
    if strangers:
        yield Shortfall(
            what=f"generations of {', '.join(strangers)} lie among those of {launch_id}",
            do="judge the run folder as it was written; do not merge launches",
        )
    for g in good:
        if g.counters is not None and g.counters.contradictions:
            yield Shortfall(
                what=f"the counters of {g.request_id} contradict each other: {g.counters.contradictions[0]}",
                do="read the raw body; report it as a fault of this SGLang version",
            )
            break
    for g in good:
        told = g.counters.completion_tokens if g.counters is not None else None
        if told is not None and told != g.asked_tokens:
            yield Shortfall(
                what=f"{g.request_id} made {told} tokens where {g.asked_tokens} were asked for",
                do="check that ignore_eos reached the server",
            )
            break
    wanted = max(at_least, 1)
    if len(good) < wanted and not failed:
        yield Shortfall(
            what=f"{len(good)} good generations of {workload} where {wanted} were asked for",
            do="run the whole session: pytest perf_tests -m eagle3",
        )
