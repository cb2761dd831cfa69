"""Promise: no prompt was answered from the prefix cache, as every workload declares."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.establish import establish_workload, invalid
from tokgate.verdicts.shortfall import Shortfall

CHECK = "cache_state"


def cache_state(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Both `flush` and `unique` promise 0 cached tokens; anything else, or silence, is `invalid`."""
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    declared = rig.workload(workload).cache
    cached = {
        g.request_id: g.counters.cached_tokens if g.counters is not None else None for g in established.good
    }
    silent = [request for request, tokens in cached.items() if tokens is None]
    hits = {request: tokens for request, tokens in cached.items() if tokens}
    shortfall: Shortfall | None = None
    if hits:
        request, tokens = next(iter(hits.items()))
        shortfall = Shortfall(
            what=f"{len(hits)} of {len(cached)} prompts came from the prefix cache (declared {declared}): "
            f"{request} had {tokens} cached tokens",
            do="check that POST /flush_cache succeeded before every start, or that no prompt repeats",
            evidence=tuple(f"{r}: {t} cached tokens" for r, t in list(hits.items())[:5]),
        )
    elif silent:
        shortfall = Shortfall(
            what=f"the server told no cached_tokens for {len(silent)} of {len(cached)} generations",
            do="use the generate endpoint, or start the server with --enable-cache-report",
        )
    if shortfall is not None:
        return (invalid(CHECK, [shortfall], launch=launch, workload=workload, raw=established.raw),)
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS,
            headline=f"no cached token in {len(cached)} prompts of {workload} on {launch.launch.id} ({declared})",
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            value=0.0,
            unit="tokens",
            n=len(cached),
            raw=established.raw,
        ),
    )
