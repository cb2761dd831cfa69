"""From one generation, or one barrier start, to samples: every number with its source."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

from tokgate.records import Generation, Sample, ServerCounters

TOLERANCE = 0.02  # client and server may differ by this much in decode tok/s before a warning is due
# No unit used here makes a measurement that large; sums of what a server may claim (1e308) overflow.
LARGEST = 1e12

UNITS = {
    "decode_tok_s": "tok/s",
    "client_decode_tok_s": "tok/s",
    "ttft_ms": "ms",
    "tpot_ms": "ms",
    "cycle_ms": "ms",
    "accept_length": "tokens",
    "total_tok_s": "tok/s",
    "e2e_ms": "ms",
}

# A number with its source, or why there is none.
Reading = tuple[float | None, str, str | None]

# By the id of a generation that is alive: it is frozen, and every check, chart and diagnosis of a run asks for the same.
_KNOWN: dict[int, tuple[weakref.ref[Generation], tuple[Sample, ...]]] = {}


def samples_of(generation: Generation) -> tuple[Sample, ...]:
    """Return one sample per metric of a single generation.

    Nothing for a failed generation or a warm-up. A metric that cannot be computed is a sample
    with value None and the reason. cycle_ms and accept_length exist only where the server
    counted verify calls. Where counters contradict each other every value is None.
    """
    if not generation.good or generation.warmup:
        return ()
    place = id(generation)
    known = _KNOWN.get(place)
    if known is None:
        forget = weakref.ref(generation, lambda _: _KNOWN.pop(place, None))
        _KNOWN[place] = known = (forget, _computed(generation))
    return known[1]


def _computed(generation: Generation) -> tuple[Sample, ...]:
    counters = generation.counters
    readings: dict[str, Reading] = {
        "decode_tok_s": _decode(generation),
        "client_decode_tok_s": _client_decode(generation),
        "ttft_ms": _ttft(generation),
        "tpot_ms": _tpot(generation),
        "e2e_ms": _span(generation.sent_ns, generation.end_ns, "end of stream - sent"),
    }
    if counters is not None and counters.spec is not None:
        readings["cycle_ms"] = _cycle(generation)
        readings["accept_length"] = _accept_length(counters)
    if counters is not None and counters.contradictions:
        why = f"the server's counters contradict each other: {counters.contradictions[0]}"
        readings = {metric: (None, source, why) for metric, (_, source, _) in readings.items()}
    warnings = {"decode_tok_s": _cross_check(readings)}
    return tuple(
        _sample(metric, reading, generation, index=generation.index, warnings=warnings.get(metric, ()))
        for metric, reading in readings.items()
    )


def batch_samples(generations: Sequence[Generation]) -> tuple[Sample, ...]:
    """Return the samples of one barrier start: total_tok_s, all tokens over first sent to last end.

    One failed generation makes it unknown: the others ran with less company than declared.
    Nothing for a warm-up or no generations. Raises ValueError when given more than one start.
    """
    if not generations or any(g.warmup for g in generations):
        return ()
    first = generations[0]
    if {(g.launch, g.workload, g.batch) for g in generations} != {
        (first.launch, first.workload, first.batch)
    }:
        raise ValueError("generations of more than one barrier start")
    source = "completion tokens of the start / (last end - first sent)"
    failed = [g for g in generations if not g.good]
    tokens = [_tokens(g) for g in generations]
    ends = [g.end_ns for g in generations]
    contradicted = [g for g in generations if g.counters is not None and g.counters.contradictions]
    reading: Reading
    if failed:
        reading = (None, source, f"{len(failed)} of {len(generations)} generations of the start failed")
    elif contradicted:
        reading = (None, source, "the server's counters contradict each other")
    elif None in tokens or None in ends:
        reading = (None, source, "a generation without a token count or an end")
    else:
        wall = max(e for e in ends if e is not None) - min(g.sent_ns for g in generations)
        reading = _per_second(sum(t for t in tokens if t is not None), wall / 1e9, source)
    return (_sample("total_tok_s", reading, first, index=first.batch),)


def _decode(generation: Generation) -> Reading:
    told = generation.counters.decode_throughput if generation.counters is not None else None
    if told is not None and (reading := _positive(told, "meta_info.decode_throughput"))[0] is not None:
        return reading
    return _client_decode(generation)


def _client_decode(generation: Generation) -> Reading:
    return _with_decode_span(
        generation,
        lambda tokens, seconds: _per_second(tokens, seconds, "client: tokens after the first chunk / time"),
    )


def _tpot(generation: Generation) -> Reading:
    return _with_decode_span(
        generation,
        lambda tokens, seconds: (
            seconds * 1e3 / tokens,
            "client: (last chunk - first chunk) / tokens after the first chunk",
            None,
        ),
    )


def _with_decode_span(generation: Generation, finish: Callable[[int, float], Reading]) -> Reading:
    """Give `finish` the tokens that came after the first chunk, and the seconds they took.

    The first token is prefill's, so a stream of n tokens decodes n - 1; where the first chunk
    carried more than one token (the server tells per chunk) those are not decoded in the span.
    """
    source = "client: chunk arrivals"
    tokens = _tokens(generation)
    if tokens is None:
        return (None, source, "the server told no completion_tokens")
    if len(generation.chunk_ns) < 2:
        return (None, source, f"{len(generation.chunk_ns)} chunk(s) carried tokens: no time between two")
    in_first = generation.chunk_tokens[0] if generation.chunk_tokens else 1
    after_first = tokens - in_first
    seconds = (generation.chunk_ns[-1] - generation.chunk_ns[0]) / 1e9
    if after_first <= 0 or seconds <= 0:
        return (None, source, f"{after_first} tokens in {seconds:.6f} s after the first chunk")
    return finish(after_first, seconds)


def _ttft(generation: Generation) -> Reading:
    if not generation.chunk_ns:
        return (None, "client: first chunk - sent", "no chunk carried tokens")
    return _span(generation.sent_ns, generation.chunk_ns[0], "client: first chunk - sent")


def _cycle(generation: Generation) -> Reading:
    counters = generation.counters
    spec = counters.spec if counters is not None else None
    seconds, source = _decode_seconds(generation)
    source = f"{source} / spec_verify_ct"
    if spec is None or spec.verify_ct is None:
        return (None, source, "the server told no spec_verify_ct")
    if spec.verify_ct <= 0:
        return (None, source, f"spec_verify_ct is {spec.verify_ct}")
    if seconds is None or seconds <= 0:
        return (None, source, "no decode time is known")
    return _positive(seconds * 1e3 / spec.verify_ct, source)


def _decode_seconds(generation: Generation) -> tuple[float | None, str]:
    counters = generation.counters
    if counters is not None:
        if counters.e2e_latency_s is not None and counters.first_token_latency_s is not None:
            return (
                counters.e2e_latency_s - counters.first_token_latency_s,
                "meta_info (e2e_latency - first_token_latency)",
            )
        if counters.decode_throughput and counters.completion_tokens:
            return (
                (counters.completion_tokens - 1) / counters.decode_throughput,
                "meta_info (completion_tokens - 1) / decode_throughput",
            )
    if len(generation.chunk_ns) >= 2:
        return (
            (generation.chunk_ns[-1] - generation.chunk_ns[0]) / 1e9,
            "client: (last chunk - first chunk)",
        )
    return (None, "decode seconds")


def _accept_length(counters: ServerCounters) -> Reading:
    spec = counters.spec
    if spec is not None and spec.accept_length is not None:
        return _positive(spec.accept_length, "meta_info.spec_accept_length")
    source = "meta_info.completion_tokens / spec_verify_ct"
    if spec is None or not spec.verify_ct or counters.completion_tokens is None:
        return (None, source, "the server told no spec_verify_ct")
    return _positive(counters.completion_tokens / spec.verify_ct, source)


def _cross_check(readings: dict[str, Reading]) -> tuple[str, ...]:
    told, told_source, _ = readings["decode_tok_s"]
    seen, seen_source, why_not = readings["client_decode_tok_s"]
    if told is None or told_source == seen_source:
        return ()
    if seen is None:
        return (f"the server's word stands alone, the client could not see the rate: {why_not}",)
    if abs(seen / told - 1) <= TOLERANCE:
        return ()
    return (
        f"the client saw {seen:.2f} tok/s where the server says {told:.2f}: more than {TOLERANCE:.0%} apart",
    )


def _tokens(generation: Generation) -> int | None:
    if generation.counters is not None and generation.counters.completion_tokens is not None:
        return generation.counters.completion_tokens
    return generation.chunk_tokens[-1] if generation.chunk_tokens else None


def _span(start_ns: int, end_ns: int | None, source: str) -> Reading:
    if end_ns is None:
        return (None, source, "no end was stamped")
    return _positive((end_ns - start_ns) / 1e6, source)


def _per_second(tokens: int, seconds: float, source: str) -> Reading:
    if seconds <= 0:
        return (None, source, f"{tokens} tokens in {seconds:.6f} s")
    return _positive(tokens / seconds, source)


def _positive(value: float, source: str) -> Reading:
    """Refuse what cannot be a measurement, so that no later room has to take a logarithm of 0."""
    if 0 < value <= LARGEST:
        return (value, source, None)
    return (None, source, f"the value would be {value}")


def _sample(
    metric: str, reading: Reading, generation: Generation, *, index: int, warnings: tuple[str, ...] = ()
) -> Sample:
    value, source, why = reading
    return Sample(
        metric=metric,
        value=value,
        unit=UNITS[metric],
        source=source,
        why=why,
        launch=generation.launch,
        workload=generation.workload,
        index=index,
        warnings=warnings,
    )
