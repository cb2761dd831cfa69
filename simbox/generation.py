"""From a request's body to a Request of the engine: limits, sampling parameters, prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simbox.acceptance import Acceptance, Pin
from simbox.engine import Engine
from simbox.knobs import Knobs
from simbox.replies import BadRequestError
from simbox.request import Request, Sink
from simbox.text import VOCABULARY, Answer, prompt_seed, tokenize

DEFAULT_NEW_TOKENS = 128
# What SamplingParams knows, and of what type; another name or type ends in a 500, as there.
_NUMBERS = (
    "temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty", "n",
    "min_new_tokens", "max_new_tokens", "stream_interval", "sampling_seed",
)  # fmt: skip
_OTHERS = (
    "stop", "stop_token_ids", "stop_regex", "ignore_eos", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim",
    "json_schema", "regex", "ebnf", "structural_tag", "custom_params", "logit_bias",
)  # fmt: skip


class OutOfVocabularyError(Exception):
    """A token id the model does not have: on a real GPU an assertion that ends the server."""


@dataclass(frozen=True)
class Maker:
    """Makes Requests for one server."""

    knobs: Knobs
    engine: Engine
    context_length: int
    draft: str  # its name; "" without speculation
    steps: int
    topk: int
    draft_tokens: int
    pin: Pin | None

    def make(self, prompt: Sequence[int], sampling: dict[str, Any], *, sink: Sink, stream: bool) -> Request:
        """Check and build. BadRequestError; TypeError for what SGLang answers with 500."""
        unknown = [k for k in sampling if k not in _NUMBERS + _OTHERS]
        odd = [k for k in _NUMBERS if isinstance(sampling.get(k), str)]
        if unknown or odd:
            raise TypeError(f"SamplingParams: {unknown + odd}")
        temperature = sampling.get("temperature", 1.0)
        if temperature is not None and temperature < 0:
            raise BadRequestError(f"temperature must be a non-negative finite number, got {temperature}.")
        asked = sampling.get("max_new_tokens")
        most = self.context_length - len(prompt)
        if most <= 0:
            raise BadRequestError(
                f"The input ({len(prompt)} tokens) is longer than the model's context length ({self.context_length} tokens)."
            )
        new = int(DEFAULT_NEW_TOKENS if asked is None else asked)
        if new > most:
            raise BadRequestError(
                f"Requested token count exceeds the model's maximum context length of {self.context_length} tokens. "
                f"You requested a total of {len(prompt) + new} tokens: {len(prompt)} tokens from the input messages and "
                f"{new} tokens for the completion. Please reduce the number of tokens in the input messages or the "
                "completion to fit within the limit."
            )
        if any(not 0 <= i < VOCABULARY for i in prompt):
            raise OutOfVocabularyError
        seed = prompt_seed(prompt)
        acceptance = None
        if self.draft:
            # Which draft tokens are right depends on the drafter too.
            own = prompt_seed(prompt, self.draft)
            acceptance = Acceptance(
                self.knobs,
                prompt_seed=own,
                steps=self.steps,
                topk=self.topk,
                draft_tokens=self.draft_tokens,
                pinned=self.pin,
            )
        return Request(
            prompt=prompt,
            max_new=max(1, new),
            sink=sink,
            answer=Answer(seed),
            acceptance=acceptance,
            stream=stream,
        )


def prompts_of(body: dict[str, Any]) -> tuple[list[list[int]], bool]:
    """Read `text` or `input_ids` of /generate: the prompts, and whether they were a list. BadRequestError."""
    text, ids = body.get("text"), body.get("input_ids")
    if text is None and ids is None:
        raise BadRequestError("Either text, input_ids or input_embeds should be provided.")
    if isinstance(text, str):
        return [tokenize(text)], False
    if text is not None:
        return [tokenize(str(t)) for t in text], True
    if ids and isinstance(ids[0], list):
        return [list(map(int, one)) for one in ids], True
    if not ids:
        raise BadRequestError("input_ids cannot be empty.")
    return [list(map(int, ids))], False
