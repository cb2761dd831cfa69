"""One measured request and what the server said about it."""

from __future__ import annotations

from enum import StrEnum

from .record import Record, Unread, Whole


class GenerationStatus(StrEnum):
    GOOD = "good"
    REFUSED = "refused"  # no connection
    HTTP_ERROR = "http-error"  # a status other than 200, or an error event inside a 200 stream
    TIMED_OUT = "timed-out"  # no end before the workload's limit
    CUT = "cut"  # the stream ended before its [DONE] or its last counters
    SHORT = "short"  # fewer tokens than asked for
    GARBLED = "garbled"  # HTTP, SSE or JSON that could not be read


class SpecCounters(Record):
    """Speculation's counters of one request, under the names of SGLang >= 0.5.13."""

    verify_ct: Whole | None = None
    accept_length: float | None = None  # completion_tokens / verify_ct, bonus token included
    num_correct_drafts: Whole | None = None
    num_proposed_drafts: Whole | None = None
    correct_drafts_histogram: tuple[Whole, ...] | None = None  # [i]: verify calls that accepted i drafts


class ServerCounters(Record):
    """meta_info of one finished request. Seconds; None where this server version does not say."""

    dialect: str  # which version's names were found: "0.5.9", "0.5.11", "0.5.13", "openai-usage", "unknown"
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None
    cached_tokens: Whole | None = None
    e2e_latency_s: float | None = None
    first_token_latency_s: float | None = None
    queue_time_s: float | None = None
    decode_throughput: float | None = None  # tok/s, (n - 1) / (e2e - first token)
    finish_reason: str | None = None
    spec: SpecCounters | None = None  # None: the body carries no speculation counter
    contradictions: tuple[str, ...] = ()  # counts that cannot all be true: the sample is unusable
    unread: tuple[Unread, ...] = ()


class Generation(Record):
    """Times are nanoseconds of the gate machine's monotonic clock; failed ones are kept too."""

    request_id: str
    launch: str
    workload: str
    index: Whole  # which prompt of the workload: the same index is the same prompt in every launch
    slot: Whole = 0  # position within a concurrent batch
    batch: Whole = 0  # which barrier start it belonged to
    warmup: bool = False
    status: GenerationStatus
    why: str | None = None  # always set when the status is not good
    http_status: Whole | None = None
    asked_tokens: Whole
    sent_ns: Whole  # last byte of the request handed to the kernel
    first_byte_ns: Whole | None = None
    end_ns: Whole | None = None  # end of stream, or when it failed
    chunk_ns: tuple[Whole, ...] = ()  # arrival of each SSE event that carried tokens
    chunk_tokens: tuple[Whole, ...] | None = (
        None  # completion tokens so far at each; None: not told per chunk
    )
    counters: ServerCounters | None = None
    output_ids: tuple[Whole, ...] | None = None
    text_sha256: str | None = None
    top_logprobs: tuple[tuple[tuple[float, Whole], ...], ...] | None = (
        None  # per position: (logprob, id), best first
    )
    body_file: str | None = None  # raw response, relative to the run folder
    warnings: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.status is GenerationStatus.GOOD
