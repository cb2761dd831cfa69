"""What a server says about one finished request: /generate's meta_info, and OpenAI's usage."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from tokgate.records import Record, ServerCounters, SpecCounters, Unread

from .counter_checks import contradictions, impossible_rate
from .foreign_json import count, number, shown, unread

UNREAD_LIMIT = 20
COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")


class SpecDialect(Record):
    name: str
    mark: str | None = None
    first_token_counted: bool
    num_correct_drafts: str
    num_proposed_drafts: str
    correct_drafts_histogram: str

    @property
    def spec_keys(self) -> tuple[str, ...]:
        return (self.num_correct_drafts, self.num_proposed_drafts, self.correct_drafts_histogram)


class GoldenKeys(Record):
    """names/meta_info.toml."""

    fields: dict[str, tuple[str, ...]]
    spec: dict[str, str]
    dialects: tuple[SpecDialect, ...]
    other: dict[str, tuple[str, ...]]

    @property
    def known(self) -> frozenset[str]:
        keys = [key for spellings in self.fields.values() for key in spellings]
        keys += self.spec.values()
        keys += self.other["keys"]
        for dialect in self.dialects:
            keys += [*dialect.spec_keys, *([dialect.mark] if dialect.mark else [])]
        return frozenset(keys)


@cache
def golden_keys() -> GoldenKeys:
    text = (files("tokgate.parsers") / "names" / "meta_info.toml").read_text("utf-8")
    return GoldenKeys.model_validate(tomllib.loads(text))


def read_meta_info(body: object) -> ServerCounters:
    """Return the counters of a meta_info object, or of a whole /generate answer that holds one.

    Names of every SGLang release map to those of 0.5.12 and later, and decode_throughput to its meaning there:
    (n - 1) tokens over the decode time. Counts that cannot all be true fill `contradictions`; a key that is not in
    names/meta_info.toml, or a value that is no count, goes to `unread`. Never raises.
    """
    if isinstance(body, Mapping) and isinstance(body.get("meta_info"), Mapping):
        body = body["meta_info"]
    if not isinstance(body, Mapping):
        return ServerCounters(dialect="unknown", unread=(unread(body, "not a JSON object"),))
    return _Reader(body).counters()


def read_usage(body: object) -> ServerCounters:
    """Return the counters of an OpenAI-shaped answer, or of the parts of a stream put together.

    `usage` gives the counts, `sglext.spec_tokens_details` (asked for with return_spec_tokens_details) the
    speculation, `choices[0].meta_info` everything where a server sends it. Never raises.
    """
    if not isinstance(body, Mapping):
        return ServerCounters(dialect="unknown", unread=(unread(body, "not a JSON object"),))
    meta_info = _meta_info_of_choice(body.get("choices")) or body.get("meta_info")
    if isinstance(meta_info, Mapping):
        return read_meta_info(meta_info)
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return ServerCounters(dialect="unknown", unread=(unread(body, "no usage in it"),))
    parts: dict[str, object] = {key: usage.get(key) for key in ("prompt_tokens", "completion_tokens")}
    parts["cached_tokens"] = _cached(usage, body.get("sglext"))
    spec = _mapping(body.get("sglext")).get("spec_tokens_details")
    # A list has one entry per choice, and we ask for one choice.
    spec = spec[0] if isinstance(spec, list) and len(spec) == 1 else spec
    for key, value in _mapping(spec).items():
        # The server fills what it does not know with zeros and empty lists here.
        if value or key == "spec_num_correct_drafts":
            parts[str(key)] = value
    return _Reader({k: v for k, v in parts.items() if v is not None}).counters(dialect="openai-usage")


class _Reader:
    def __init__(self, body: Mapping[str, object]) -> None:
        self._body = body
        self._unread: list[Unread] = []
        self._golden = golden_keys()

    def counters(self, *, dialect: str | None = None) -> ServerCounters:
        spoken = self._dialect()
        values = {field: self._field(field) for field in self._golden.fields}
        completion = values["completion_tokens"]
        rate = values["decode_throughput"]
        if rate is not None and completion and spoken is not None and spoken.first_token_counted:
            rate = rate * (completion - 1) / completion
        void = impossible_rate(rate, completion, values["e2e_latency_s"])
        if void is not None:
            self._note(f"decode_throughput {rate:g}", void)
            rate = None
        read = ServerCounters(
            dialect=dialect or (spoken.name if spoken is not None else "unknown"),
            prompt_tokens=_whole(values["prompt_tokens"]),
            completion_tokens=_whole(completion),
            cached_tokens=_whole(values["cached_tokens"]),
            e2e_latency_s=values["e2e_latency_s"],
            first_token_latency_s=values["first_token_latency_s"],
            queue_time_s=values["queue_time_s"],
            decode_throughput=rate,
            finish_reason=finish_type(self._body.get("finish_reason")),
            spec=self._spec(spoken),
        )
        self._report_unknown_keys()
        return read.model_copy(
            update={
                "contradictions": contradictions(read, _finish_length(self._body)),
                "unread": tuple(self._unread),
            }
        )

    def _dialect(self) -> SpecDialect | None:
        dialects = self._golden.dialects
        # By most keys, since 0.5.9 and 0.5.11 share the histogram's; the newest of equals, since it repeats older names.
        by_counts = max(dialects, key=lambda d: sum(key in self._body for key in d.spec_keys))
        if any(key in self._body for key in by_counts.spec_keys):
            return by_counts
        return next((d for d in dialects if d.mark is not None and d.mark in self._body), None)

    def _field(self, field: str) -> float | None:
        key = next((key for key in self._golden.fields[field] if key in self._body), None)
        if key is None:
            return None
        return self._count(key) if field in COUNTS else self._number(key)

    def _spec(self, dialect: SpecDialect | None) -> SpecCounters | None:
        keys = [*self._golden.spec.values(), *(dialect.spec_keys if dialect is not None else ())]
        if not any(key in self._body for key in keys):
            return None
        correct, proposed, histogram = dialect.spec_keys if dialect is not None else ("", "", "")
        return SpecCounters(
            verify_ct=_whole(self._count(self._golden.spec["verify_ct"])),
            accept_length=self._number(self._golden.spec["accept_length"]),
            num_correct_drafts=_whole(self._count(correct)),
            num_proposed_drafts=_whole(self._count(proposed)),
            correct_drafts_histogram=self._histogram(histogram),
        )

    def _count(self, key: str) -> float | None:
        return self._checked(key, count(self._body.get(key)), "not a count")

    def _number(self, key: str) -> float | None:
        value = number(self._body.get(key))
        return self._checked(key, value if value is None or value >= 0 else None, "not a number from 0 up")

    def _checked(self, key: str, value: float | None, why: str) -> float | None:
        if value is None and self._body.get(key) is not None:
            self._note(f"{key}: {shown(self._body[key], 200)}", why)
        return value

    def _histogram(self, key: str) -> tuple[int, ...] | None:
        raw = self._body.get(key)
        if raw is None:
            return None
        values = tuple(count(value) for value in raw) if isinstance(raw, list) else ()
        whole = tuple(value for value in values if value is not None)
        if not whole or len(whole) != len(values):
            self._note(f"{key}: {shown(raw, 200)}", "not a list of counts")
            return None
        return whole

    def _report_unknown_keys(self) -> None:
        for key in self._body:
            if key not in self._golden.known:
                self._note(key, "a key this version of tokgate does not know")

    def _note(self, text: object, why: str) -> None:
        if len(self._unread) < UNREAD_LIMIT:
            self._unread.append(unread(text, why))


def finish_type(value: object) -> str | None:
    """Return "length", "stop", "abort", …: SGLang sends an object, OpenAI's shape a bare word."""
    if isinstance(value, Mapping):
        value = value.get("type")
    return shown(value, 40) if isinstance(value, str) else None


def _finish_length(body: Mapping[str, object]) -> int | None:
    return count(_mapping(body.get("finish_reason")).get("length"))


def _meta_info_of_choice(choices: object) -> object:
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0].get("meta_info")
    return None


def _cached(usage: Mapping[str, object], sglext: object) -> object:
    """Return the cached tokens: usage has them only where the server reports its cache."""
    told = _mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    if told is not None:
        return told
    details = _mapping(_mapping(sglext).get("cached_tokens_details"))
    parts = [count(details[key]) for key in ("device", "host", "storage") if details.get(key) is not None]
    return sum(part for part in parts if part is not None) if parts and None not in parts else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
