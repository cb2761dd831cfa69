"""What is asked: prompts that are the same in every launch, and the request bodies that carry them."""

from __future__ import annotations

import json
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from tokgate.errors import RigError, UsageError
from tokgate.records import Record
from tokgate.rig.workload import PromptSet, TokenIdPrompts

from .exchange import Endpoint

# A fraction of the vocabulary that shares no factor with most sizes: consecutive prompts begin far apart.
_STRIDE = 0.6180339887498949


class PromptValue(Record):
    """Either token ids or text."""

    ids: tuple[int, ...] | None = None
    text: str | None = None


def prompt(prompt_set: PromptSet, index: int, *, root: Path) -> PromptValue:
    """Return prompt `index` (from 0) of the set; the same one for the same set, always.

    `root` is where relative paths of a text set start. RigError where the file cannot be used.
    """
    if isinstance(prompt_set, TokenIdPrompts):
        return PromptValue(ids=_token_ids(prompt_set, index))
    texts = _texts(root / prompt_set.file)
    return PromptValue(text=texts[index % len(texts)])


def distinct_prompts(prompt_set: PromptSet, *, root: Path) -> int:
    """Return how many indexes from 0 give prompts that share no beginning (token ids) or differ (text).

    A workload with cache = "unique" must not need more than these.
    """
    if isinstance(prompt_set, TokenIdPrompts):
        return _span(prompt_set)
    texts = _texts(root / prompt_set.file)
    return len(set(texts))


def payload(
    endpoint: Endpoint,
    value: PromptValue,
    *,
    output_tokens: int,
    request_id: str,
    stream: bool = True,
    top_logprobs: int = 0,
    model: str = "default",
) -> dict[str, Any]:
    """Return the request body: greedy, exactly `output_tokens` tokens, every count the server can tell.

    `top_logprobs` > 0 asks for that many log-probabilities per position, with token ids, which only /generate
    gives. UsageError for what an endpoint cannot take.
    """
    if endpoint == "generate":
        return _generate(value, output_tokens, request_id, stream=stream, top_logprobs=top_logprobs)
    if top_logprobs:
        raise UsageError(
            tried=f"ask {endpoint} for log-probabilities",
            found="its answer names tokens by text, not by id",
            do='use endpoint = "generate" for a near-tie lossless check',
        )
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": output_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": stream,
        "rid": request_id,
        # Servers that do not know these two ignore them: their speculation and cache counts are unknown then.
        "return_spec_tokens_details": True,
        "return_cached_tokens_details": True,
    }
    if stream:
        # The second one puts the tokens so far into every event: text alone cannot tell them.
        body["stream_options"] = {"include_usage": True, "continuous_usage_stats": True}
    if endpoint == "completions":
        # Not in chat: 0.5.23 refuses it there when streaming.
        return body | {"prompt": _either(value), "return_token_ids": True}
    if value.text is None:
        raise UsageError(
            tried="send token ids to /v1/chat/completions",
            found="that endpoint takes messages",
            do='use a prompt set of kind "text", or another endpoint',
        )
    messages = [{"role": "user", "content": value.text}]
    return body | {"messages": messages, "return_output_ids_in_sglext": True}


def _generate(
    value: PromptValue, output_tokens: int, request_id: str, *, stream: bool, top_logprobs: int
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "rid": request_id,
        "sampling_params": {"temperature": 0, "max_new_tokens": output_tokens, "ignore_eos": True},
        "stream": stream,
    }
    body["input_ids" if value.text is None else "text"] = _either(value)
    if top_logprobs:
        body |= {"return_logprob": True, "top_logprobs_num": top_logprobs}
    return body


def _either(value: PromptValue) -> list[int] | str:
    if value.text is not None:
        return value.text
    return list(value.ids or ())


def _span(prompt_set: TokenIdPrompts) -> int:
    span = prompt_set.last_id - prompt_set.first_id + 1
    if span < 1:
        raise RigError(
            tried="make token id prompts",
            found=f"first_id {prompt_set.first_id}, last_id {prompt_set.last_id}",
            do="make last_id the larger one",
        )
    return span


def _token_ids(prompt_set: TokenIdPrompts, index: int) -> tuple[int, ...]:
    span = _span(prompt_set)
    # The bit generator's own stream, which numpy promises to keep; Generator.integers may change with a release,
    # and prompts must be the same next year.
    raw = np.random.PCG64(np.random.SeedSequence([prompt_set.seed, index])).random_raw(prompt_set.length)
    drawn = [prompt_set.first_id + int(word) % span for word in raw]
    # The first ids of consecutive prompts are a permutation: no two of them share a beginning, so that the prefix
    # cache has nothing to answer with. By chance alone it would, once in `span`.
    start = np.random.PCG64(np.random.SeedSequence([prompt_set.seed])).random_raw(1)[0]
    drawn[0] = prompt_set.first_id + (int(start) + index * _coprime(span)) % span
    return tuple(drawn)


@lru_cache(maxsize=64)
def _coprime(span: int) -> int:
    step = max(1, int(span * _STRIDE))
    while gcd(step, span) != 1:
        step += 1
    return step


@lru_cache(maxsize=16)
def _texts(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, str(error)) from error
    texts: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)["text"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise _unusable(path, f'line {number} is not {{"text": …}}') from error
        if not isinstance(text, str) or not text:
            raise _unusable(path, f"line {number}: text is {text!r:.60}")
        texts.append(text)
    if not texts:
        raise _unusable(path, "no line in it")
    return tuple(texts)


def _unusable(path: Path, found: str) -> RigError:
    return RigError(
        tried=f"read prompts from {path}",
        found=found,
        do='give a JSON-lines file with one {"text": "…"} a line',
    )
