"""How long each token took to arrive, from the client's stamps.

With speculation one chunk carries all tokens of a cycle, so that the gap between two chunks is a cycle's time and no
token's. A token's latency here is the gap before its chunk over the tokens in that chunk; what a reader sees between
two pieces of text is the gap itself. The first chunk is prefill's and counts for neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tokgate.records import Generation
from tokgate.records.record import Record

# Quantile of each metric, and the fewest gaps that have one: a quantile needs a value beyond it. Of the tokens of one
# chunk all have the same latency, so it is gaps that count, not tokens.
TOKENS = {"token_ms": 0.5, "token_p95_ms": 0.95, "token_p99_ms": 0.99}
GAPS = {"chunk_gap_p95_ms": 0.95, "chunk_gap_p99_ms": 0.99}
FEWEST = {0.5: 1, 0.95: 20, 0.99: 100}
SOURCE = {
    **dict.fromkeys(TOKENS, "client: gap before a chunk / tokens in it, weighted by tokens"),
    **dict.fromkeys(GAPS, "client: gap between two chunks"),
}

Gap = tuple[float, int]  # ms before a chunk, tokens in it


class TokenTimes(Record):
    """The decoded tokens of one barrier start. A metric is in `values` or, with the reason, in `unknown`."""

    values: dict[str, float] = {}
    unknown: dict[str, str] = {}
    tokens: int | None = None  # without those of first chunks; None: not told
    gaps: int = 0
    together: int = 0  # chunks that arrived in one piece with the chunk before
    crowded: int = 0  # cycles (plain: tokens) beyond one a chunk


def token_times(generations: Sequence[Generation]) -> TokenTimes:
    """Take all streams of a start together: they share the machine and its moment. One untold makes all unknown."""
    gaps: list[Gap] = []
    together = crowded = 0
    uncounted: str | None = None
    for generation in generations:
        stamps = generation.chunk_ns
        if len(stamps) < 2 or any(after < before for before, after in pairwise(stamps)):
            why = f"{len(stamps)} chunk(s) carried tokens: no gap between two"
            why = why if len(stamps) < 2 else "chunks that arrived before the one in front of them"
            return TokenTimes(unknown=dict.fromkeys((*TOKENS, *GAPS), why))
        own = _own_tokens(generation)
        uncounted = uncounted or (own if isinstance(own, str) else None)
        counts = [1] * len(stamps) if isinstance(own, str) else own
        merged = _merged(list(zip(stamps, counts, strict=True)))
        together += len(stamps) - len(merged)
        crowded += 0 if isinstance(own, str) else _crowded(generation, own)
        gaps += [((now - before) / 1e6, tokens) for (before, _), (now, tokens) in pairwise(merged)]
    unknown = {name: uncounted for name in TOKENS if uncounted is not None}
    for name, share in {**TOKENS, **GAPS}.items():
        if name not in unknown and len(gaps) < FEWEST[share]:
            few = f"a start has {len(gaps)} gaps between chunks, a p{share * 100:g} needs {FEWEST[share]}"
            unknown[name] = f"{few}: raise output_tokens"
    a_token, once = [(ms / tokens, tokens) for ms, tokens in gaps], [(ms, 1) for ms, _ in gaps]
    return TokenTimes(
        values={
            name: _quantile(a_token if name in TOKENS else once, share)
            for name, share in {**TOKENS, **GAPS}.items()
            if name not in unknown
        },
        unknown=unknown,
        tokens=sum(tokens for _, tokens in gaps) if uncounted is None else None,
        gaps=len(gaps),
        together=together,
        crowded=crowded,
    )


def _own_tokens(generation: Generation) -> list[int] | str:
    """Return the tokens of each chunk, or why they are not known."""
    so_far = generation.chunk_tokens
    if so_far is None or len(so_far) != len(generation.chunk_ns):
        return "the server does not tell how many tokens a chunk has"
    own = [now - before for before, now in pairwise((0, *so_far))]
    return own if min(own) > 0 else "the server tells of chunks that carry no token"


def _merged(chunks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Take chunks that arrived in one piece as one: when the later one left the server nobody saw."""
    found: list[tuple[int, int]] = []
    for stamp, tokens in chunks:
        if found and found[-1][0] == stamp:
            found[-1] = (stamp, found[-1][1] + tokens)
        else:
            found.append((stamp, tokens))
    return found


def _crowded(generation: Generation, own: Sequence[int]) -> int:
    """Count the cycles that had no chunk of their own; of a plain server each token is a cycle.

    One less than there are cycles is nothing: a version may put the first cycle into the first chunk. None are counted
    where the endpoint would not tell of speculation.
    """
    counters = generation.counters
    spec = counters.spec if counters is not None else None
    if spec is not None:
        cycles = spec.verify_ct
    else:
        silent = counters is None or counters.dialect == "openai-usage"
        cycles = None if silent else sum(own[1:])
    if cycles is None:
        return 0
    missing = cycles - (len(own) - 1)
    return missing if missing > 1 else 0


def _quantile(weighted: Sequence[Gap], share: float) -> float:
    """Return the smallest value with at least this share of the weight at or below it."""
    ordered = sorted(weighted)
    wanted = math.ceil(share * sum(weight for _, weight in ordered) - 1e-9)
    passed = 0
    for value, weight in ordered:
        passed += weight
        if passed >= wanted:
            return value
    return ordered[-1][0]
