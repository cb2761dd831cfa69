"""/v1/completions and /v1/chat/completions, whole and streamed."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from simbox import replies
from simbox.generate_api import WholeSink
from simbox.generation import Maker
from simbox.http_connection import Exchange
from simbox.replies import BadRequestError
from simbox.request import Request
from simbox.text import tokenize, word

_RENAMED = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens"}
_TAKEN = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "stop",
    "ignore_eos",
)


def usage(request: Request) -> dict[str, Any]:
    """Return OpenAI's usage block."""
    prompt, n = len(request.prompt), len(request.output)
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + n,
        "completion_tokens": n,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }


class ChunkSink:
    """Writes OpenAI's chunks: each the new text alone, then the reason, then the usage if asked for."""

    def __init__(
        self, exchange: Exchange, *, chat: bool, model: str, include_usage: bool, continuous: bool
    ) -> None:
        self._exchange, self._chat, self._model = exchange, chat, model
        self._include_usage, self._continuous = include_usage, continuous
        self._head = ""

    @property
    def closed(self) -> bool:
        return self._exchange.closed

    def tokens(self, request: Request, new: Sequence[int]) -> bool:
        """Send the new tokens, and the end when they were the last."""
        if not self._head:
            kind = "chat.completion.chunk" if self._chat else "text_completion"
            head = {"id": request.rid, "object": kind, "created": int(time.time()), "model": self._model}
            self._head = "data: " + json.dumps(head, separators=(",", ":"))[:-1]
            if self._chat:
                self._send(request, '{"reasoning_content":null,"role":"assistant","content":""}', None)
        text = "".join(word(t) for t in new)
        if self._chat:
            self._send(request, f'{{"reasoning_content":null,"content":"{text}"}}', None)
            if request.done:
                self._send(request, '{"reasoning_content":null}', "length")
        else:
            self._send(request, f'"{text}"', "length" if request.done else None)
        if request.done:
            if self._include_usage:
                told = json.dumps(usage(request), separators=(",", ":"))
                self._exchange.event(f'{self._head},"choices":[],"usage":{told}}}\n\n'.encode("ascii"))
            self._exchange.event(b"data: [DONE]\n\n")
            self._exchange.end_stream()
        return True

    def cut(self) -> None:
        self._exchange.cut()

    def _send(self, request: Request, content: str, reason: str | None) -> None:
        name, end = ("delta", "null") if self._chat else ("text", "null")
        reason_text = f'"{reason}"' if reason else "null"
        told = json.dumps(usage(request), separators=(",", ":")) if self._continuous else "null"
        after = f',"usage":{told}' if self._continuous or not self._chat else ""
        self._exchange.event(
            f'{self._head},"choices":[{{"index":0,"{name}":{content},"logprobs":{end},'
            f'"finish_reason":{reason_text},"matched_stop":null}}]{after}}}\n\n'.encode("ascii")
        )


class OpenAiApi:
    """The two endpoints of one server."""

    def __init__(self, maker: Maker, *, served_model: str) -> None:
        self._maker, self._served = maker, served_model

    async def completions(self, exchange: Exchange) -> None:
        """Serve POST /v1/completions."""
        body = self._read(exchange, "openai_v1_completions", "prompt")
        prompt = body["prompt"]
        ids = tokenize(prompt) if isinstance(prompt, str) else self._ids(prompt)
        await self._answer(exchange, body, ids, chat=False)

    async def chat(self, exchange: Exchange) -> None:
        """Serve POST /v1/chat/completions."""
        body = self._read(exchange, "openai_v1_chat_completions", "messages")
        parts = []
        for message in body["messages"]:
            content = message.get("content") or ""
            texts = content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)
            parts.append(f"{message.get('role', 'user')}: {texts}")
        await self._answer(exchange, body, tokenize("\n".join([*parts, "assistant:"])), chat=True)

    def _read(self, exchange: Exchange, function: str, needed: str) -> dict[str, Any]:
        kind = exchange.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            told = {
                "loc": ["header", "content-type"],
                "msg": "Unsupported Media Type: Only 'application/json' is allowed",
                "type": "value_error",
            }
            replies.openai(exchange, f"1 validation error:\n  {told} [{told}]", kind="Bad Request")
            raise replies.Refused
        body = replies.read_json(exchange, function)
        if needed not in body:
            replies.missing(exchange, needed, function)
            raise replies.Refused
        return body

    def _ids(self, prompt: Any) -> list[int]:
        if prompt and isinstance(prompt[0], str):
            return tokenize(prompt[0])
        return [int(i) for i in (prompt[0] if prompt and isinstance(prompt[0], list) else prompt)] or [1000]

    async def _answer(
        self, exchange: Exchange, body: dict[str, Any], ids: Sequence[int], *, chat: bool
    ) -> None:
        sampling = {
            _RENAMED.get(k, k): v for k, v in body.items() if (k in _RENAMED or k in _TAKEN) and v is not None
        }
        if "max_new_tokens" not in sampling:
            sampling["max_new_tokens"] = 512 if chat else 16
        model = str(body.get("model") or self._served)
        stream = bool(body.get("stream"))
        options = body.get("stream_options") or {}
        requests: list[Request] = []
        sink: ChunkSink | WholeSink
        if stream:
            sink = ChunkSink(
                exchange, chat=chat, model=model, include_usage=bool(options.get("include_usage")),
                continuous=bool(options.get("continuous_usage_stats")),
            )  # fmt: skip
        else:
            sink = WholeSink(exchange, 1, lambda: self._whole(requests[0], model, chat=chat))
        try:
            requests.append(self._maker.make(ids, sampling, sink=sink, stream=stream))
        except BadRequestError as error:
            replies.openai(exchange, str(error))
            return
        if stream:
            exchange.stream()
        self._maker.engine.submit(requests[0])
        await exchange.finished.wait()

    def _whole(self, request: Request, model: str, *, chat: bool) -> dict[str, Any]:
        ending = {"logprobs": None, "finish_reason": "length", "matched_stop": None}
        said = (
            {
                "message": {
                    "role": "assistant",
                    "content": request.text,
                    "reasoning_content": None,
                    "tool_calls": None,
                }
            }
            if chat
            else {"text": request.text}
        )
        return {
            "id": request.rid,
            "object": "chat.completion" if chat else "text_completion",
            "created": int(time.time()),
            "model": model,
            "choices": [{"index": 0, **said, **ending}],
            "usage": usage(request),
            "metadata": {"weight_version": "default"},
        }
