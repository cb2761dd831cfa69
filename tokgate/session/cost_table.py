"""What the probe costs, out of the starts of an instrumented launch: with it switched on, and off."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

from tokgate.records import Generation, LaunchEvidence
from tokgate.records.phases import ProbeCost
from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.stats.paired import paired
from tokgate.stats.samples import samples_of

LEAST_SEEN = (
    0.5  # of the verify calls that the answers count: less, and the probe was as good as off in them too
)
QUICKER = (
    -0.005
)  # nothing is quicker for being measured; a whole interval below it is of two loads, not of a probe
MOST_STRAY = 0.02  # calls with the switch off, of those with it on: more, and it did not work
BY_CYCLE = "decode seconds a verify call"
BY_TOKEN = "decode seconds a token"  # noqa: S105 - a word of a model's, no password
_Start = dict[int, Generation]  # by slot


def cost_of(
    evidence: LaunchEvidence,
    workload: str,
    concurrency: int,
    *,
    calls_on: int,
    calls_off: int,
    why: str | None,
) -> ProbeCost:
    """Return the cost by all pairs of whole starts. `why`: what is known already to keep it unknown."""
    on = _starts(g for g in evidence.generations if g.workload in (workload, PROBE_ON))
    off = _starts(g for g in evidence.generations if g.workload == PROBE_OFF)
    twins = [(on[b], off[b]) for b in sorted(on.keys() & off.keys()) if on[b].keys() == off[b].keys()]
    by, pairs = _seconds(twins)
    found = paired(pairs) if pairs else None
    switched = (
        f"{calls_on} calls were recorded in the starts with the switch on, {calls_off} in those with it off"
    )
    if why is None and not off:
        why = "no start was taken with the probe switched off"
    elif why is None and found is None:
        why = "no pair of starts tells of its decode time"
    elif why is None and calls_on == 0:
        why = f"the probe recorded nothing in the starts with the switch on: {switched}"
    elif why is None and calls_off > MOST_STRAY * calls_on:
        why = f"the switch did not work: {switched}"
    elif why is None and calls_on < LEAST_SEEN * (counted := _counted(on.values())):
        why = f"the probe recorded {calls_on} calls in the starts with the switch on, where {counted} verify calls ran"
    elif why is None and found is not None and found.interval is not None and found.interval[1] < QUICKER:
        why = (
            f"the starts with the probe on are quicker than their twins, by {-found.interval[1]:.1%} or more, and no "
            "measuring does that: something else differs between them"
        )
    elif why is None and found is not None and found.interval is None:
        why = found.warnings[0] if found.warnings else "too few pairs"
    return ProbeCost(
        workload=workload,
        concurrency=concurrency,
        pairs=len(pairs),
        slowdown=found.change if found is not None else None,
        interval=found.interval if found is not None else None,
        confidence=found.confidence if found is not None else 0.95,
        by=by if pairs else None,
        calls_on=calls_on,
        calls_off=calls_off,
        why=why,
    )


def _starts(generations: Iterable[Generation]) -> dict[int, _Start]:
    """Return the judged starts by number; one with a failed generation is left out."""
    found: dict[int, _Start] = {}
    for g in generations:
        if not g.warmup:
            found.setdefault(g.batch, {})[g.slot] = g
    return {batch: start for batch, start in found.items() if all(g.good for g in start.values())}


def _counted(starts: Iterable[_Start]) -> int:
    """Return the fewest verify calls that ran: of answers that ran together the one that counts most has all of them."""
    specs = ([g.counters.spec for g in start.values() if g.counters is not None] for start in starts)
    return sum(max((s.verify_ct or 0 for s in found if s is not None), default=0) for found in specs)


def _seconds(twins: list[tuple[_Start, _Start]]) -> tuple[str, list[tuple[float, float]]]:
    """Return what is compared, and of each pair of starts the two geometric means over their generations.

    A cycle's time where the server counts verify calls: how much of a draft is accepted is luck, or differs with the
    company of a batch, and is no cost of the probe.
    """
    known = [[(_told(a[slot]), _told(b[slot])) for slot in sorted(a)] for a, b in twins]
    by_cycle = bool(known) and all("cycle_ms" in told for pair in known for both in pair for told in both)
    pairs = []
    for start in known:
        if by_cycle:
            times = [(a["cycle_ms"], b["cycle_ms"]) for a, b in start]
        else:
            rates = [(a.get("decode_tok_s"), b.get("decode_tok_s")) for a, b in start]
            times = [(1 / a, 1 / b) for a, b in rates if a is not None and b is not None]
        if len(times) == len(start):
            pairs.append((_mean(a for a, _ in times), _mean(b for _, b in times)))
    return BY_CYCLE if by_cycle else BY_TOKEN, pairs


def _told(generation: Generation) -> dict[str, float]:
    return {s.metric: s.value for s in samples_of(generation) if s.value}


def _mean(values: Iterable[float]) -> float:
    return math.exp(fmean(math.log(v) for v in values))
