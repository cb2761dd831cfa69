"""Whether what a server tells of its speed can be true beside what the client itself timed of the same generations.

Two bounds, each of medians over a workload:

- Nothing is known before its cause: whatever a server tells of a generation it has told before the end of the stream, and it
  began after the request was sent. So it cannot have decoded for longer than the client waited for the whole answer.
- The decode time at either end of the connection differs by what the first and the last chunk are delayed on their way. Delays
  that vary show as gaps between chunks, so two of the largest gaps are allowed for, and a factor APART for what a slow client, a
  tunnel or a proxy does to all of a stream. With two tokens a gap is the whole decode time: then little is bounded, and
  rightly so.

APART: medians of 650 workloads of simulated servers, on two cores, idle and with a load of 20, from 32 tokens on, lie within 0.93
and 1.03; of streams of SGLang 0.5.16 on one H200 within 0.99 and 1.00. What lies beyond the warning at 2 % and inside of this costs a comparison of two launches no more than it says.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tokgate.records import Generation
from tokgate.rig.models import ArmSpec

from .shortfall import Shortfall

APART = 1.25
ENDS = 2  # the first and the last chunk
CLOSE = 0.01  # relative: rounding, never more
NS = 1e9
_COMPARE = (
    "compare arrivals with the counters in generations.jsonl; look for a slow tunnel, a proxy or load on "
    "this machine, else report the counters as a fault of this SGLang version"
)


class _Seen(NamedTuple):
    """One generation, as the client timed it."""

    told: float  # tok/s that the server tells
    server_s: float  # the decode time that follows from it
    whole_s: float  # from the request sent to the end of its stream
    rate: float | None  # tok/s between the first chunk and the last; None: no time between them
    gaps: float  # the largest gaps, as a part of the decode time


def unbelievable(good: Sequence[Generation]) -> Iterable[Shortfall]:
    """Yield what cannot be: stamps that run backwards, a server's rate that the stream's own timing excludes."""
    for g in good:
        stamps = [ns for ns in (g.sent_ns, g.first_byte_ns, *g.chunk_ns, g.end_ns) if ns is not None]
        if any(after < before for before, after in pairwise(stamps)):
            yield Shortfall(
                what=f"the times of {g.request_id} run backwards: no clock of this machine does that",
                do="judge the run folder as it was written; measure again",
            )
            return
    seen = [one for g in good if (one := _seen(g)) is not None]
    if not seen:
        return
    told = statistics.median(one.told for one in seen)
    server_s = statistics.median(one.server_s for one in seen)
    whole_s = statistics.median(one.whole_s for one in seen)
    if server_s > whole_s * (1 + CLOSE):
        yield Shortfall(
            what=f"the server says {told:.4g} tok/s, so it decoded for {server_s:.4g} s; from the request to the end of its "
            f"stream the client waited {whole_s:.4g} s ({_rates(seen)}): no answer takes longer to make than to wait for",
            do=_COMPARE,
        )
        return
    rates = [one.rate for one in seen if one.rate is not None]
    if not rates:
        return
    rate = statistics.median(rates)
    most = APART * (1 + statistics.median(one.gaps for one in seen if one.rate is not None))
    if not 1 / most <= told / rate <= most:
        yield Shortfall(
            what=f"the server says {told:.4g} tok/s, the client saw {rate:.4g}: one of them measures something else "
            f"(more than {most:.2f} times apart)",
            do=_COMPARE,
        )


def beyond_the_draft(arm: ArmSpec, good: Iterable[Generation]) -> Iterable[Shortfall]:
    """Yield the first generation with more tokens a verify call than a cycle of the arm can commit: its drafts and one more."""
    if arm.num_steps is None:
        return
    most = arm.num_steps + 1
    for g in good:
        counters = g.counters
        spec, tokens = (counters.spec, counters.completion_tokens) if counters is not None else (None, None)
        if spec is None:
            continue
        lengths = [spec.accept_length] if spec.accept_length is not None else []
        lengths += [tokens / spec.verify_ct] if tokens is not None and spec.verify_ct else []
        # The first token is prefill's, and an accept length counts it.
        if lengths and max(lengths) > most * _with_first(tokens) * (1 + CLOSE):
            yield Shortfall(
                what=f"accept length {max(lengths):.4g} of {g.request_id}, but {arm.num_steps} "
                f"{'step gives' if arm.num_steps == 1 else 'steps give'} at most {most} tokens a verify call",
                do="read the raw body and the launch's command line: these counters cannot be this arm's",
            )
            return


def _with_first(tokens: int | None) -> float:
    return tokens / (tokens - 1) if tokens is not None and tokens > 1 else 2.0


def _seen(g: Generation) -> _Seen | None:
    counters = g.counters
    if counters is None or g.end_ns is None or counters.decode_throughput is None:
        return None
    tokens, told = counters.completion_tokens, counters.decode_throughput
    if tokens is None or tokens < 2 or told <= 0:
        return None
    whole_s = (g.end_ns - g.sent_ns) / NS
    decode_ns = g.chunk_ns[-1] - g.chunk_ns[0] if g.chunk_ns else 0
    after_first = tokens - (g.chunk_tokens[0] if g.chunk_tokens else 1)
    if decode_ns <= 0 or after_first <= 0:
        return _Seen(told, (tokens - 1) / told, whole_s, None, 0.0)
    largest = max(after - before for before, after in pairwise(g.chunk_ns))
    return _Seen(told, (tokens - 1) / told, whole_s, after_first / decode_ns * NS, ENDS * largest / decode_ns)


def _rates(seen: Sequence[_Seen]) -> str:
    rates = [one.rate for one in seen if one.rate is not None]
    return f"it saw {statistics.median(rates):.4g} tok/s" if rates else "it saw no two chunks apart"
