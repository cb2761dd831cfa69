"""SGLang's "Decode batch" and "Prefill batch" log lines, of every version since 0.3.6.

The fields come and go by version, pool type and flags, so a line is read as `name: value` pairs rather
than by one pattern. What makes a decode line: `#running-req`, `gen throughput (token/s)`, and behind them
`#queue-req` (every version prints them in this order; without the last one the number before it may be
torn). What a line's throughput means: idle_spans.py.
"""

from __future__ import annotations

import math

from tokgate.records import Record, Unread

from .batch_fields import Fields, Unreadable, head, names_a_batch, split_joined
from .idle_spans import SincePrefill, Timing, find_gaps
from .log_prefix import PrefixedLine, log_lines

# SGLang retracts requests when a pool runs out; from here on a scheduler works under pressure.
KV_PRESSURE_FROM = 0.95
MAX_UNREAD = 200

_POOLS = ("token", "full token", "swa token", "gpu token", "mamba")
_THROUGHPUT = "gen throughput (token/s)"


class DecodeReading(Record):
    """One decode line. Numbers are as printed; None means that the line does not have the field."""

    line: int
    time_text: str | None
    rank: str | None  # "TP0", "DP5 TP5"; with a DP rank every number is that rank's alone
    running_req: int
    tokens: int | None  # KV tokens in use, from `tokens_field`
    tokens_field: str | None  # "#token"; "#full token" and "#gpu token" move in whole pages
    token_usage: float | None  # 0..1, of the same pool
    accept_len: float | None  # None: speculation does not show in this line; never 1.0 for "off"
    accept_rate_printed: float | None  # of one of two definitions: accept_rate.py tells which
    graph: bool | None  # None: this version does not say (before 0.4.7)
    graph_word: str | None  # "cuda graph", "npu graph", "cpu graph", "musa graph"
    gen_throughput: float  # tok/s; false where spans_idle
    queue_req: int
    spans_idle: bool = False
    spans_idle_why: str | None = None
    load_changed: bool = False  # another number of requests ran at the previous line: a mixture of both
    kv_pressure: bool | None = None  # None: no pool usage printed
    odd_prefix: bool = False  # the prefix was damaged or of no known logger
    extras: dict[str, str] = {}  # every other field, as text


class PrefillReading(Record):
    """One prefill line. Its graph field is False on healthy servers too: it says nothing on decode."""

    line: int
    time_text: str | None
    rank: str | None
    new_seq: int | None
    new_tokens: int | None
    cached_tokens: int | None
    running_req: int | None
    queue_req: int | None
    input_throughput: float | None  # tok/s
    extras: dict[str, str] = {}


class BatchLines(Record):
    """What a log says of its batches. `unread`: lines that name a batch and could not be read."""

    decode: tuple[DecodeReading, ...]
    prefill: tuple[PrefillReading, ...]
    other_lines: int  # not about batches: access log, start-up, progress bars
    unread: tuple[Unread, ...]


def read_batch_lines(text: str) -> BatchLines:
    """Read a whole log or a slice of one; never raises on odd input."""
    decode: list[DecodeReading] = []
    prefill: list[PrefillReading] = []
    unread: list[Unread] = []
    since = SincePrefill()
    other = 0
    for number, whole in log_lines(text):
        for line in split_joined(whole):
            kind = names_a_batch(line.text)
            if kind is None:
                other += 1
                continue
            rank_known = False
            after = False
            try:
                fields_text, odd = head(line)
                rank_known = line.rank is not None or not odd
                if kind == "Decode":
                    after = since.decode(line.rank, rank_known=rank_known)
                    decode.append(_decode(number, line, Fields(fields_text), after_prefill=after, odd=odd))
                else:
                    since.prefill(line.rank, rank_known=rank_known)
                    prefill.append(_prefill(number, line, Fields(fields_text)))
            except Unreadable as reason:
                unread.append(Unread(line=number, text=line.text[:500], why=str(reason)))
                if kind == "Prefill" and not rank_known:
                    # Better one good reading lost than a false one kept.
                    since.prefill(None, rank_known=False)
    if len(unread) > MAX_UNREAD:
        more = len(unread) - MAX_UNREAD
        unread[MAX_UNREAD:] = [Unread(text="", why=f"and {more} more lines of such kinds")]
    return BatchLines(
        decode=_mark_spans(decode), prefill=tuple(prefill), other_lines=other, unread=tuple(unread)
    )


def _decode(
    number: int, line: PrefixedLine, fields: Fields, *, after_prefill: bool, odd: bool
) -> DecodeReading:
    pool = next((p for p in _POOLS if f"#{p}" in fields.rest), "token")
    tokens_field = f"#{pool}" if f"#{pool}" in fields.rest else None
    usage = fields.number(f"{pool} usage")
    others = [value for p in _POOLS if (value := _peek(fields, f"{p} usage")) is not None]
    printed = others if usage is None else [usage, *others]
    pressure: bool | None = max(printed) >= KV_PRESSURE_FROM if printed else None
    if fields.rest.get("#retracted-req", "0") != "0":
        pressure = True
    word, graph = fields.graph()
    return DecodeReading(
        line=number,
        time_text=line.time_text,
        rank=line.rank,
        running_req=fields.needed_count("#running-req"),
        tokens=fields.count(f"#{pool}"),
        tokens_field=tokens_field,
        token_usage=usage,
        accept_len=fields.number("accept len"),
        accept_rate_printed=fields.number("accept rate"),
        graph=graph,
        graph_word=word,
        gen_throughput=fields.needed_number(_THROUGHPUT),
        queue_req=fields.needed_count("#queue-req"),
        spans_idle=after_prefill,
        spans_idle_why="first after a prefill line" if after_prefill else None,
        kv_pressure=pressure,
        odd_prefix=odd,
        extras=fields.rest,
    )


def _peek(fields: Fields, key: str) -> float | None:
    """Read a number that stays among the extras, as text."""
    text = fields.rest.get(key)
    value = fields.number(key)
    if text is not None:
        fields.rest[key] = text
    return value


def _prefill(number: int, line: PrefixedLine, fields: Fields) -> PrefillReading:
    return PrefillReading(
        line=number,
        time_text=line.time_text,
        rank=line.rank,
        new_seq=fields.count("#new-seq"),
        new_tokens=fields.count("#new-token"),
        cached_tokens=fields.count("#cached-token"),
        running_req=fields.count("#running-req"),
        queue_req=fields.count("#queue-req"),
        input_throughput=fields.number("input throughput (token/s)"),
        extras=fields.rest,
    )


def _mark_spans(readings: list[DecodeReading]) -> tuple[DecodeReading, ...]:
    gaps = find_gaps(
        [Timing(r.rank, r.time_text, _step_time(r), after_prefill=r.spans_idle) for r in readings]
    )
    running: dict[str | None, int] = {}
    marked = []
    for index, reading in enumerate(readings):
        update: dict[str, object] = {}
        if index in gaps:
            update = {"spans_idle": True, "spans_idle_why": "first after a pause"}
        if running.get(reading.rank, reading.running_req) != reading.running_req:
            update["load_changed"] = True
        running[reading.rank] = reading.running_req
        marked.append(reading.model_copy(update=update) if update else reading)
    return tuple(marked)


def _step_time(reading: DecodeReading) -> float:
    """Seconds per decode step, from the line alone: each step commits accept_len tokens per request."""
    if not reading.gen_throughput:
        return math.inf
    return max(reading.running_req, 1) * (reading.accept_len or 1.0) / reading.gen_throughput
