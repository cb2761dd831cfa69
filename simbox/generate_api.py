"""/generate: whole answers, batches and streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simbox import meta_info, replies
from simbox.generation import Maker, prompts_of
from simbox.http_connection import Exchange
from simbox.replies import BadRequestError
from simbox.request import Request


class StreamSink:
    """Writes one event for every arrival of tokens, the text cumulative unless asked otherwise."""

    def __init__(
        self,
        exchange: Exchange,
        *,
        version: str,
        draft_tokens: int,
        factor: float,
        interval: int,
        incremental: bool,
    ) -> None:
        self._exchange, self._version, self._draft_tokens, self._factor = (
            exchange,
            version,
            draft_tokens,
            factor,
        )
        self._interval, self._incremental = interval, incremental
        self._parts: tuple[str, str] | None = None
        self._sent = self._chars = 0

    @property
    def closed(self) -> bool:
        return self._exchange.closed

    def tokens(self, request: Request, new: Sequence[int]) -> bool:
        """Send what has come; say whether something went out."""
        count = len(request.output)
        if not request.done and count // self._interval == (count - len(new)) // self._interval:
            return False
        text, ids = request.text, request.ids_text
        if self._incremental:
            text, ids = text[self._chars :], ",".join(map(str, request.output[self._sent :]))
        self._sent, self._chars = count, len(request.text)
        if request.done:
            info = meta_info.final(
                request, self._version, draft_tokens=self._draft_tokens, throughput_factor=self._factor
            )
            told = json.dumps(info, separators=(",", ":"))[1:-1]
        else:
            if self._parts is None:
                self._parts = meta_info.running(request, self._version)
            told = f'{self._parts[0]}"completion_tokens":{count}{self._parts[1]}'
        # Words of the simulated vocabulary are plain ASCII: nothing to escape.
        event = f'data: {{"text":"{text}","output_ids":[{ids}],"meta_info":{{{told}}}}}\n\n'
        self._exchange.event(event.encode("ascii"))
        if request.done:
            self._exchange.event(b"data: [DONE]\n\n")
            self._exchange.end_stream()
        return True

    def cut(self) -> None:
        self._exchange.cut()


class WholeSink:
    """Answers when all requests of one body are done."""

    def __init__(self, exchange: Exchange, count: int, bodies: Any) -> None:
        self._exchange, self._left, self._bodies = exchange, count, bodies

    @property
    def closed(self) -> bool:
        return self._exchange.closed

    def tokens(self, request: Request, new: Sequence[int]) -> bool:
        """Wait for the last token of the last request."""
        del new
        if not request.done:
            return False
        self._left -= 1
        if self._left == 0 and not self._exchange.closed:
            self._exchange.answer_json(200, self._bodies())
        return True

    def cut(self) -> None:
        self._exchange.cut()


class GenerateApi:
    """The endpoint of one server."""

    def __init__(self, maker: Maker, *, version: str, args: dict[str, Any], draft_tokens: int) -> None:
        self._maker, self._version, self._draft_tokens = maker, version, draft_tokens
        self._interval = max(1, int(args.get("stream_interval") or 1))
        self._incremental = bool(args.get("incremental_streaming_output"))

    async def generate(self, exchange: Exchange) -> None:
        """Serve POST /generate."""
        body = replies.read_json(exchange, "generate_request")
        stream = bool(body.get("stream"))
        try:
            prompts, many = prompts_of(body)
            sampling = body.get("sampling_params") or {}
            per_prompt = sampling if isinstance(sampling, list) else [sampling] * len(prompts)
            requests = self._requests(exchange, prompts, per_prompt, stream=stream and not many, many=many)
        except BadRequestError as error:
            (replies.streamed if stream else replies.native)(exchange, str(error))
            return
        if stream and not many:
            exchange.stream()
        for request in requests:
            self._maker.engine.submit(request)
        await exchange.finished.wait()

    def _requests(
        self,
        exchange: Exchange,
        prompts: Sequence[Sequence[int]],
        sampling: Sequence[dict[str, Any]],
        *,
        stream: bool,
        many: bool,
    ) -> list[Request]:
        factor = self._maker.knobs.told_throughput_factor
        requests: list[Request] = []

        def bodies() -> Any:
            all_of_them = [self._body(r, factor) for r in requests]
            return all_of_them if many else all_of_them[0]

        if stream:
            sink: StreamSink | WholeSink = StreamSink(
                exchange, version=self._version, draft_tokens=self._draft_tokens, factor=factor,
                interval=self._interval, incremental=self._incremental,
            )  # fmt: skip
        else:
            sink = WholeSink(exchange, len(prompts), bodies)
        for prompt, params in zip(prompts, sampling, strict=True):
            requests.append(self._maker.make(prompt, params, sink=sink, stream=stream))
        return requests

    def _body(self, request: Request, factor: float) -> dict[str, Any]:
        info = meta_info.final(
            request, self._version, draft_tokens=self._draft_tokens, throughput_factor=factor
        )
        info["response_sent_to_client_ts"] = request.wall(request.end_ns)
        return {"text": request.text, "output_ids": request.output, "meta_info": info}
