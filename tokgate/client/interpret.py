"""From a raw response to a generation: what came, whether it counts, and why not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tokgate.parsers.foreign_json import shown
from tokgate.parsers.generation_stream import (
    StreamReading,
    read_chat_stream,
    read_completions_stream,
    read_generate_stream,
)
from tokgate.parsers.sse import SseStream, split_events
from tokgate.records import Generation, GenerationStatus, ServerCounters, Unread

from .exchange import Endpoint, RawResponse
from .http_response import HttpReading, read_response

READERS: Mapping[Endpoint, Callable[[SseStream], StreamReading]] = {
    "generate": read_generate_stream,
    "completions": read_completions_stream,
    "chat": read_chat_stream,
}

Judgement = tuple[GenerationStatus, str | None]


@dataclass(frozen=True, slots=True)
class _Read:
    http: HttpReading
    stream: SseStream
    reading: StreamReading


def interpret(
    raw: RawResponse,
    *,
    launch: str,
    workload: str,
    index: int,
    slot: int = 0,
    batch: int = 0,
    warmup: bool = False,
    body_file: str | None = None,
) -> Generation:
    """Read one response. Whatever came, the result is a generation; only a whole one is good."""
    http = read_response(raw.pieces, closed=raw.kind is None)
    stream = split_events(http.body)
    read = _Read(http, stream, READERS[raw.request.endpoint](stream))
    status, why = _judge(raw, read)
    counters = _counters(raw, read.reading)
    text = read.reading.text
    return Generation(
        request_id=raw.request.request_id,
        launch=launch,
        workload=workload,
        index=index,
        slot=slot,
        batch=batch,
        warmup=warmup,
        status=status,
        why=why,
        http_status=http.status if http.status is not None else raw.status,
        asked_tokens=raw.request.asked_tokens,
        sent_ns=raw.sent_ns,
        first_byte_ns=raw.first_byte_ns,
        # The stream ends with its [DONE]; the connection closes when the server gets round to it.
        end_ns=stream.done_ns if stream.done_ns is not None and raw.kind is None else raw.end_ns,
        chunk_ns=read.reading.chunk_ns,
        chunk_tokens=read.reading.chunk_tokens,
        counters=counters,
        output_ids=read.reading.output_ids,
        text_sha256=hashlib.sha256(text.encode()).hexdigest() if text is not None else None,
        top_logprobs=read.reading.top_logprobs,
        body_file=body_file,
        warnings=_warnings(read, counters),
    )


def _judge(raw: RawResponse, read: _Read) -> Judgement:
    """Return the status by precedence: what went wrong first explains what is missing later."""
    if raw.kind is GenerationStatus.REFUSED:
        return GenerationStatus.REFUSED, raw.error or "no connection"
    http, reading = read.http, read.reading
    if http.status is not None and http.status != 200:
        return GenerationStatus.HTTP_ERROR, f"HTTP {http.status}: {_excerpt(http)}"
    if raw.kind is GenerationStatus.GARBLED:
        return GenerationStatus.GARBLED, raw.error
    if http.garbled is not None:
        return GenerationStatus.GARBLED, shown(http.garbled)
    encoding = http.header("content-encoding")
    if encoding is not None and encoding.lower() != "identity":
        return GenerationStatus.GARBLED, f"the server compressed the stream ({shown(encoding, 40)})"
    if reading.error is not None:
        return GenerationStatus.HTTP_ERROR, f"error inside the stream: {reading.error}"
    if raw.kind is not None:
        return raw.kind, raw.error
    if not raw.pieces:
        return GenerationStatus.CUT, "the server closed the connection without a byte"
    if http.cut is not None and not reading.complete:
        return GenerationStatus.CUT, shown(http.cut)
    return _judge_whole(raw, read)


def _judge_whole(raw: RawResponse, read: _Read) -> Judgement:
    reading = read.reading
    spoilt = _spoilt(reading.unread)
    if spoilt is not None:
        return GenerationStatus.GARBLED, spoilt
    if not read.stream.events and not read.stream.done:
        return GenerationStatus.GARBLED, f"no event stream: {_excerpt(read.http)}"
    if not read.stream.done:
        return GenerationStatus.CUT, "the stream ended before its [DONE]"
    if reading.finish_reason is None:
        return GenerationStatus.CUT, "[DONE] without a finish reason"
    tokens = reading.counters.completion_tokens if reading.counters is not None else None
    if tokens is None:
        return GenerationStatus.CUT, "the stream ended without a token count"
    if tokens < raw.request.asked_tokens:
        why = f"{tokens} of {raw.request.asked_tokens} tokens, finished by {reading.finish_reason}"
        return GenerationStatus.SHORT, why
    return GenerationStatus.GOOD, None


def _counters(raw: RawResponse, reading: StreamReading) -> ServerCounters | None:
    """Add what only the request, or the rest of the stream, can contradict."""
    counters = reading.counters
    if counters is None or counters.completion_tokens is None:
        return counters
    tokens, found = counters.completion_tokens, []
    if tokens > raw.request.asked_tokens:
        found.append(f"{tokens} tokens, {raw.request.asked_tokens} were asked for")
    if reading.output_ids is not None and len(reading.output_ids) != tokens and reading.complete:
        found.append(f"{len(reading.output_ids)} output ids, completion_tokens {tokens}")
    if reading.chunk_tokens and reading.chunk_tokens[-1] != tokens and reading.complete:
        found.append(f"the last chunk says {reading.chunk_tokens[-1]} tokens, the counters {tokens}")
    return counters.model_copy(update={"contradictions": (*counters.contradictions, *found)})


def _spoilt(unread: tuple[Unread, ...]) -> str | None:
    """Return the first event that could not be read as what it should be."""
    return f"{unread[0].why}: {shown(unread[0].text, 120)}" if unread else None


def _excerpt(http: HttpReading) -> str:
    body = b"".join(data for _, data in http.body[:20])[:300]
    return shown(body.decode("utf-8", "replace").strip()) or "(empty body)"


def _warnings(read: _Read, counters: ServerCounters | None) -> tuple[str, ...]:
    found: list[str] = []
    if read.stream.done and read.http.cut is not None:
        found.append(f"after its [DONE]: {shown(read.http.cut)}")
    if read.http.trailing:
        found.append("bytes after the end of the response")
    if read.stream.rest and read.stream.done:
        found.append("bytes after the last event")
    if counters is not None:
        found.extend(f"counters: {text}" for text in counters.contradictions)
    return tuple(found)
