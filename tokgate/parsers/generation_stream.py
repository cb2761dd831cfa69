"""What an event stream says about one generation: /generate, /v1/completions, /v1/chat/completions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tokgate.records import Record, ServerCounters, Unread

from .foreign_json import count, ids, load_json, shown, unread
from .meta_info import finish_type, read_meta_info, read_usage
from .sse import SseEvent, SseStream
from .stream_parts import Growing, GrowingText, top_logprobs

UNREAD_LIMIT = 20

# What a choice says, and whether its event carried tokens.
Delta = Callable[[Mapping[str, object]], tuple[str, bool]]


class StreamReading(Record):
    """`complete`: the stream finished its generation and said [DONE]; `error`: it said why it would not."""

    chunk_ns: tuple[int, ...] = ()  # arrival of each event that carried tokens
    chunk_tokens: tuple[int, ...] | None = None  # completion tokens so far at each; None: not told per chunk
    counters: ServerCounters | None = None
    output_ids: tuple[int, ...] | None = None
    text: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    complete: bool = False
    top_logprobs: tuple[tuple[tuple[float, int], ...], ...] | None = None
    unread: tuple[Unread, ...] = ()


def read_generate_stream(stream: SseStream) -> StreamReading:
    """Read SGLang's own stream, cumulative or incremental (`--incremental-streaming-output`).

    Every event repeats or adds to `text` and `output_ids`; the last one carries the counters.
    """
    reader = _Reader(stream)
    token_ids, logprobs, text = Growing[int](), Growing[object](), GrowingText()
    last: Mapping[str, object] = {}
    for event, body in reader.bodies():
        meta_info = body.get("meta_info")
        if not isinstance(meta_info, Mapping):
            reader.note(event.data, "no meta_info in it")
            continue
        last = meta_info
        total = count(meta_info.get("completion_tokens"))
        fresh, said = ids(body.get("output_ids")), body.get("text")
        before = reader.tokens
        reader.chunk(event.arrival_ns, total, carries=bool(fresh or said))
        if fresh is not None:
            token_ids.add(fresh, before=before, total=total)
        if isinstance(said, str):
            text.add(said)
        positions = meta_info.get("output_top_logprobs")
        if isinstance(positions, list):
            logprobs.add(tuple(positions), before=before, total=total)
        reader.finish(event.arrival_ns, meta_info.get("finish_reason"))
    return reader.reading(
        counters=read_meta_info(last) if last else None,
        output_ids=token_ids.value(),
        text=text.value(cumulative=token_ids.cumulative),
        positions=logprobs.value(),
    )


def read_completions_stream(stream: SseStream) -> StreamReading:
    """Read /v1/completions; token counts per chunk need stream_options.continuous_usage_stats."""
    return _read_openai(stream, _completion_delta)


def read_chat_stream(stream: SseStream) -> StreamReading:
    """Read /v1/chat/completions; the event that only names the role carries no token."""
    return _read_openai(stream, _chat_delta)


def _read_openai(stream: SseStream, delta: Delta) -> StreamReading:
    reader = _Reader(stream)
    parts: list[str] = []
    token_ids: list[int] | None = None
    told: dict[str, object] = {}
    for event, body in reader.bodies():
        told |= {key: body[key] for key in ("usage", "sglext", "meta_info") if body.get(key) is not None}
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            continue  # usage and sglext come in events of their own
        choice = choices[0]
        if not isinstance(choice, Mapping):
            reader.note(event.data, "a choice that is no object")
            continue
        text, carries = delta(choice)
        parts.append(text)
        usage = body.get("usage")
        so_far = count(usage.get("completion_tokens")) if isinstance(usage, Mapping) else None
        reader.chunk(event.arrival_ns, so_far, carries=carries)
        fresh = ids(choice.get("token_ids"))
        if fresh is not None:
            token_ids = [*(token_ids or []), *fresh]
        reader.finish(event.arrival_ns, choice.get("finish_reason"))
    counters = _openai_counters(told, reader.finish_reason)
    reader.settle(counters.completion_tokens if counters is not None else None)
    return reader.reading(
        counters=counters,
        output_ids=tuple(token_ids) if token_ids is not None else _ids_of_sglext(told.get("sglext")),
        text="".join(parts),
        positions=None,
    )


def _completion_delta(choice: Mapping[str, object]) -> tuple[str, bool]:
    # A token may end inside a character, or be special: then the text is empty and the event is still one.
    text = choice.get("text")
    return (text, True) if isinstance(text, str) else ("", False)


def _chat_delta(choice: Mapping[str, object]) -> tuple[str, bool]:
    delta = choice.get("delta")
    if not isinstance(delta, Mapping):
        return "", False
    said = [part for part in (delta.get("reasoning_content"), delta.get("content")) if isinstance(part, str)]
    text = "".join(said)
    return text, bool(text or delta.get("tool_calls"))


def _openai_counters(told: Mapping[str, object], finish_reason: str | None) -> ServerCounters | None:
    if not told:
        return None
    counters = read_usage(told)
    if counters.finish_reason is not None:
        return counters
    return counters.model_copy(update={"finish_reason": finish_reason})


def _ids_of_sglext(sglext: object) -> tuple[int, ...] | None:
    """Return the ids that a chat stream sends at its end when asked (return_output_ids_in_sglext)."""
    per_choice = sglext.get("output_ids") if isinstance(sglext, Mapping) else None
    return ids(per_choice[0]) if isinstance(per_choice, list) and len(per_choice) == 1 else None


class _Reader:
    def __init__(self, stream: SseStream) -> None:
        self._stream = stream
        self._chunk_ns: list[int] = []
        self._chunk_tokens: list[int] | None = []
        self._unread: list[Unread] = list(stream.unread)
        self._error: str | None = None
        self._finish_ns: int | None = None
        self.tokens = 0  # the highest count so far
        self.finish_reason: str | None = None

    def bodies(self) -> Iterator[tuple[SseEvent, Mapping[str, object]]]:
        """Yield the events that are JSON objects and no error."""
        for event in self._stream.events:
            body, why = load_json(event.data)
            if why is not None or not isinstance(body, Mapping):
                self.note(event.data, why or "not a JSON object")
            elif body.get("error") is not None:
                self._error = self._error or _error_text(body["error"])
            else:
                yield event, body

    def chunk(self, arrival_ns: int, total: int | None, *, carries: bool) -> None:
        """Count the event as one that carried tokens, if it did: by the server's count where it tells."""
        if total is None:
            if carries:
                self._chunk_ns.append(arrival_ns)
                self._chunk_tokens = None
            return
        if total < self.tokens:
            self.note(f"completion_tokens {total}", f"fewer than the {self.tokens} before")
        if total > self.tokens:
            self.tokens = total
            self._chunk_ns.append(arrival_ns)
            if self._chunk_tokens is not None:
                self._chunk_tokens.append(total)

    def finish(self, arrival_ns: int, reason: object) -> None:
        word = finish_type(reason)
        if word is None:
            return
        self.finish_reason = word
        self._finish_ns = arrival_ns
        if word == "abort":
            message = reason.get("message") if isinstance(reason, Mapping) else None
            self._error = self._error or f"aborted: {shown(message)}"

    def settle(self, total: int | None) -> None:
        """A chat sends no event for a token without text: if the last one had none, the finish came with it."""
        if total is not None and total > self.tokens and self._chunk_tokens and self._finish_ns is not None:
            self.chunk(self._finish_ns, total, carries=True)

    def note(self, text: object, why: str) -> None:
        if len(self._unread) < UNREAD_LIMIT:
            self._unread.append(unread(text, why))

    def reading(
        self,
        *,
        counters: ServerCounters | None,
        output_ids: tuple[int, ...] | None,
        text: str | None,
        positions: tuple[object, ...] | None,
    ) -> StreamReading:
        pairs, why = top_logprobs(positions)
        if why is not None:
            self.note("output_top_logprobs", why)
        return StreamReading(
            chunk_ns=tuple(self._chunk_ns),
            chunk_tokens=tuple(self._chunk_tokens) if self._chunk_tokens else None,
            counters=counters,
            output_ids=output_ids,
            text=None if text is None else text.encode("utf-8", "replace").decode("utf-8"),
            finish_reason=self.finish_reason,
            error=self._error,
            complete=self._stream.done and self.finish_reason is not None,
            top_logprobs=pairs,
            unread=tuple(self._unread),
        )


def _error_text(error: object) -> str:
    if not isinstance(error, Mapping):
        return shown(error)
    code, message = error.get("code"), error.get("message")
    return shown(f"{message} (code {code})" if code is not None else str(message))
