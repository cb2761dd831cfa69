"""Prompts that came from the prefix cache: what was measured then is another prefill."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Generation
from tokgate.rig.workload import WorkloadSpec

from .shortfall import Shortfall


def cached(good: Sequence[Generation], spec: WorkloadSpec) -> Shortfall | None:
    """Return what is wrong where a prompt had cached tokens, or where the server tells none; both are unknown speed."""
    tokens = {
        g.request_id: g.counters.cached_tokens if g.counters is not None else None
        for g in good
        if not g.warmup
    }
    silent = [request for request, told in tokens.items() if told is None]
    hits = {request: told for request, told in tokens.items() if told}
    if hits:
        request, told = next(iter(hits.items()))
        return Shortfall(
            what=f"{len(hits)} of {len(tokens)} prompts came from the prefix cache (declared {spec.cache}): "
            f"{request} had {told} cached tokens",
            do="check that POST /flush_cache succeeded before every start, or that no prompt repeats",
            evidence=tuple(f"{r}: {t} cached tokens" for r, t in list(hits.items())[:5]),
        )
    if silent:
        return Shortfall(
            what=f"the server told no cached_tokens for {len(silent)} of {len(tokens)} generations",
            do="use the generate endpoint, or start the server with --enable-cache-report",
        )
    return None
