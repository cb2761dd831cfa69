"""What a series of decode lines says: throughput, graph share, speculation, and how far to trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

from tokgate.records import Record

from .accept_rate import AcceptRate, accept_rate
from .batch_lines import DecodeReading

# A cycle costs a plain step, the draft passes and a wider verify: measured break-even lengths are 1.29 (H200,
# everything in graphs: 5.90 ms against 4.56 ms) and 1.75 (eight GPUs over PCIe). Below this none can pay.
INEFFECTIVE_BELOW = 1.1
# Attention's cost grows with context; below this many tokens of difference the growth within one generation.
_CONTEXT_STEP = 8192
_CONTEXT_FACTOR = 4

Speculation = Literal["absent", "ineffective", "effective", "mixed", "unknown"]


class Dropped(Record):
    line: int
    gen_throughput: float
    why: str


class GraphShare(Record):
    """Over all decode lines, dropped ones too: the flag is of the step at which the line was printed."""

    on: int
    off: int
    unknown: int  # lines of a version that does not say
    share: float | None  # on / (on + off); None where nothing is known
    words: tuple[str, ...]  # "cuda graph", ...


class TokenCheck(Record):
    """The log against itself: at one request, tokens gained per line = steps per line x accept length.

    `steps_per_line` is then --decode-log-interval (40 by default) if nothing was lost.
    """

    steps_per_line: float | None
    why: str | None = None


class DecodeSummary(Record):
    kept: tuple[DecodeReading, ...]
    dropped: tuple[Dropped, ...]
    median_throughput: float | None  # tok/s of the kept lines
    why_no_throughput: str | None
    graph: GraphShare
    speculation: Speculation
    mean_accept_len: float | None  # of the kept lines that print one
    accept_rate: AcceptRate
    token_check: TokenCheck
    dp_ranks: tuple[str, ...]  # not empty: every throughput is of one rank, never the server's total
    warnings: tuple[str, ...]


class Load(NamedTuple):
    """What a group of decode lines has in common."""

    running_req: int
    context_from: int | None  # smallest KV tokens per request in the group; None: the lines do not tell


def summarise_decode(readings: Sequence[DecodeReading], *, draft_tokens: int | None = None) -> DecodeSummary:
    """Summarise lines of one kind of load; a mixture gets no median, see `group_by_load`."""
    kept = tuple(r for r in readings if _why_dropped(r) is None)
    dropped = tuple(
        Dropped(line=r.line, gen_throughput=r.gen_throughput, why=why)
        for r in readings
        if (why := _why_dropped(r))
    )
    lengths = [(r.accept_len, r.accept_rate_printed) for r in kept if r.accept_len is not None]
    why = _why_no_throughput(kept)
    return DecodeSummary(
        kept=kept,
        dropped=dropped,
        median_throughput=None if why else median(r.gen_throughput for r in kept),
        why_no_throughput=why,
        graph=_graph_share(readings),
        speculation=_speculation(readings),
        mean_accept_len=sum(length for length, _ in lengths) / len(lengths) if lengths else None,
        accept_rate=accept_rate(lengths, draft_tokens=draft_tokens),
        token_check=_token_check(readings),
        dp_ranks=tuple(sorted({r.rank for r in readings if r.rank and "DP" in r.rank})),
        warnings=tuple(_warnings(readings, kept)),
    )


def group_by_load(readings: Sequence[DecodeReading]) -> dict[Load, tuple[DecodeReading, ...]]:
    """Part the lines by running requests and, where contexts differ widely, by context length."""
    groups: dict[Load, list[DecodeReading]] = {}
    for running in sorted({r.running_req for r in readings}):
        same = [r for r in readings if r.running_req == running]
        known = sorted({c for r in same if (c := _context(r)) is not None})
        starts = [
            now
            for before, now in zip([None, *known], known, strict=False)
            if before is None or (now - before > _CONTEXT_STEP and now > _CONTEXT_FACTOR * before)
        ]
        for reading in same:
            context = _context(reading)
            if context is not None:
                start: int | None = max(s for s in starts if s <= context)
            else:
                start = starts[0] if len(starts) == 1 else None
            groups.setdefault(Load(running, start), []).append(reading)
    return {load: tuple(lines) for load, lines in groups.items()}


def _why_dropped(reading: DecodeReading) -> str | None:
    if reading.spans_idle:
        return reading.spans_idle_why or "spans idle time"
    if reading.load_changed:
        return "the number of running requests changed within its span"
    return None


def _why_no_throughput(kept: Sequence[DecodeReading]) -> str | None:
    if not kept:
        return "no decode line is left"
    loads = [load for load in group_by_load(kept) if load.context_from is not None]
    running = sorted({r.running_req for r in kept})
    if len(running) > 1:
        return f"a mixture: {running[0]} to {running[-1]} requests ran; group by load first"
    if len(loads) > 1:
        starts = ", ".join(str(load.context_from) for load in loads)
        return f"a mixture: context lengths from {starts} tokens; group by load first"
    return None


def _context(reading: DecodeReading) -> int | None:
    # A running request holds at least one token: 0 is a count that lags behind (seen with paged pools).
    if not reading.tokens or not reading.running_req:
        return None
    return reading.tokens // reading.running_req


def _graph_share(readings: Sequence[DecodeReading]) -> GraphShare:
    count = Counter(r.graph for r in readings)
    known = count[True] + count[False]
    return GraphShare(
        on=count[True],
        off=count[False],
        unknown=count[None],
        share=count[True] / known if known else None,
        words=tuple(sorted({r.graph_word for r in readings if r.graph_word})),
    )


def _speculation(readings: Sequence[DecodeReading]) -> Speculation:
    lengths = [r.accept_len for r in readings if r.accept_len is not None]
    if not readings:
        return "unknown"
    if not lengths:
        return "absent"
    if len(lengths) < len(readings):
        return "mixed"
    return "ineffective" if sum(lengths) / len(lengths) < INEFFECTIVE_BELOW else "effective"


def _token_check(readings: Sequence[DecodeReading]) -> TokenCheck:
    if any(r.tokens_field not in {None, "#token"} for r in readings):
        return TokenCheck(steps_per_line=None, why="tokens are counted in whole pages")
    previous: dict[str | None, DecodeReading] = {}
    gains: list[tuple[int, float]] = []
    for reading in readings:
        before = previous.get(reading.rank)
        previous[reading.rank] = reading
        if before is None or reading.spans_idle or reading.load_changed:
            continue
        if before.tokens is not None and reading.tokens is not None:
            gains.append((reading.tokens - before.tokens, reading.running_req * (reading.accept_len or 1.0)))
    if gains and all(gain == 0 for gain, _ in gains):
        return TokenCheck(steps_per_line=None, why="the token count stands still while tokens flow")
    steps = [gain / per_step for gain, per_step in gains if gain > 0 and per_step > 0]
    if not steps:
        return TokenCheck(steps_per_line=None, why="no two decode lines of one uninterrupted span")
    return TokenCheck(steps_per_line=median(steps))


def _warnings(readings: Sequence[DecodeReading], kept: Sequence[DecodeReading]) -> list[str]:
    warnings = []
    if full := sum(r.kv_pressure is True for r in kept):
        warnings.append(f"{full} of {len(kept)} lines with a full KV pool: not comparable with a baseline")
    if odd := sum(r.odd_prefix for r in readings):
        warnings.append(f"{odd} lines with a damaged or unknown prefix")
    if queued := sum(r.queue_req > 0 for r in kept):
        warnings.append(f"requests were queueing at {queued} of {len(kept)} lines")
    if len({r.graph for r in readings}) > 1:
        warnings.append("graphs were used at some lines and not at others")
    if any(r.rank and "DP" in r.rank for r in readings):
        warnings.append("throughput is per DP rank: never compare it with a server's total")
    return warnings
