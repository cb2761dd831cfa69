"""The routes of the server, and everything on them that generates nothing."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from simbox import MARK, metrics_text, replies
from simbox.arguments import Command
from simbox.engine import Engine
from simbox.generate_api import GenerateApi
from simbox.generation import OutOfVocabularyError
from simbox.http_connection import Exchange
from simbox.openai_api import OpenAiApi
from simbox.replies import Refused
from simbox.server_log import ServerLog
from simbox.truth import Truth

HEALTH_S = 1.0  # /health waits that long before it looks
Route = Callable[[Exchange], Awaitable[None]]


@dataclass
class App:
    """One server's HTTP face. `crash` ends the server as a dead scheduler would."""

    command: Command
    args: dict[str, Any]  # as resolved
    engine: Engine
    truth: Truth
    log: ServerLog
    generate: GenerateApi
    openai: OpenAiApi
    timings: dict[str, Any]
    simulated: dict[str, Any]  # what /server_info says about the simulation
    crash: Callable[[str], None]
    device_timer: bool
    probe: Callable[[], Awaitable[None]]  # generates one token
    ready: bool = False
    _routes: dict[str, tuple[tuple[str, ...], Route]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        get, post, both = ("GET",), ("POST", "PUT"), ("GET", "POST")
        self._routes = {
            "/generate": (post, self.generate.generate),
            "/v1/completions": (("POST",), self.openai.completions),
            "/v1/chat/completions": (("POST",), self.openai.chat),
            "/v1/models": (get, self._models),
            "/health": (get, self._health),
            "/health_generate": (get, self._health_generate),
            "/model_info": (get, self._model_info),
            "/get_model_info": (get, self._model_info),
            "/server_info": (get, self._server_info),
            "/get_server_info": (get, self._server_info),
            "/flush_cache": (both, self._flush),
            "/start_profile": (both, self._start_profile),
            "/stop_profile": (both, self._stop_profile),
            "/ping": (get, self._ping),
        }
        if self.args.get("enable_metrics"):
            self._routes["/metrics"] = (get, self._metrics)

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        if not replies.authorised(exchange, self.args.get("api_key")):
            exchange.answer_json(401, {"error": "Unauthorized"})
            return
        methods, route = self._routes.get(exchange.path, ((), None))
        if route is None:
            exchange.answer_json(404, {"detail": "Not Found"})
        elif exchange.method not in methods:
            allow = ", ".join(methods)
            exchange.answer(405, b'{"detail":"Method Not Allowed"}', allow=allow)
        else:
            slow = self.command_slow()
            if slow and exchange.path not in ("/generate", "/v1/completions", "/v1/chat/completions"):
                await asyncio.sleep(slow)
            try:
                await route(exchange)
            except Refused:
                return
            except OutOfVocabularyError:
                self.crash("torch.AcceleratorError: CUDA error: device-side assert triggered")
                await asyncio.Event().wait()

    def command_slow(self) -> float:
        """Seconds by which the scenario holds answers back."""
        return self.engine.settings.knobs.slow_answer_s

    def count(self, client: str, request: str, words: str) -> None:
        """Note one answer: uvicorn's access line and the counter."""
        self.log.access(client, request, words)
        self.engine.counters.responses[request.split(" ")[1], words.split(" ", maxsplit=1)[0]] += 1

    async def _models(self, exchange: Exchange) -> None:
        name = self.args["served_model_name"]
        model = {
            "id": name,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": name,
            "parent": None,
        }
        model["max_model_len"] = self.args["context_length"]
        exchange.answer_json(200, {"object": "list", "data": [model]})

    async def _health(self, exchange: Exchange) -> None:
        # It sleeps first, and 200 does not prove that tokens flow.
        await asyncio.sleep(HEALTH_S)
        exchange.answer(200 if self.ready else 503, kind=None)

    async def _health_generate(self, exchange: Exchange) -> None:
        await asyncio.sleep(HEALTH_S)
        probe = asyncio.ensure_future(self.probe())
        done, _ = await asyncio.wait([probe], timeout=20.0)
        probe.cancel()
        exchange.answer(200 if done else HTTPStatus.SERVICE_UNAVAILABLE, kind=None)

    async def _model_info(self, exchange: Exchange) -> None:
        if exchange.path == "/get_model_info" and self.command.version == "0.5.9":
            self.log.line(
                "Endpoint '/get_model_info' is deprecated and will be removed in a future version. Please use '/model_info' instead."
            )
        names = ("model_path", "tokenizer_path", "preferred_sampling_params", "weight_version")
        info = {name: self.args.get(name) for name in names}
        info |= {"is_generation": True, "has_image_understanding": False, "has_audio_understanding": False}
        info |= {
            "model_type": "kimi_k25",
            "architectures": ["KimiK25ForConditionalGeneration"],
            "simulated": MARK,
        }
        exchange.answer_json(200, info)

    async def _server_info(self, exchange: Exchange) -> None:
        engine, counters = self.engine, self.engine.counters
        shown = {k: "<redacted>" if "api_key" in k and v else v for k, v in self.args.items()}
        state: dict[str, Any] = {
            **shown,
            "last_gen_throughput": counters.last_throughput,
            "memory_usage": {"token_capacity": engine.settings.max_tokens},
            "effective_max_running_requests_per_dp": engine.settings.max_running,
        }
        if engine.settings.shape.draft_tokens:
            verified, lengths = counters.spec_steps, counters.spec_tokens
            state["avg_spec_accept_length"] = lengths / verified if verified else 0.0
        info = {
            **shown,
            "launch_command": " ".join(self._command_shown()),
            "status": "ready" if self.ready else "starting",
            "max_total_num_tokens": engine.settings.max_tokens,
            "max_req_input_len": self.args["context_length"] - 6,
            "startup_time": self.timings,
            "internal_states": [state],
            "version": self.command.version,
            "simulated": {**self.simulated, "lateness": self.truth.lateness()},
        }
        if self.command.version == "0.5.9":
            for name in ("launch_command", "startup_time", "max_req_input_len"):
                del info[name]
        exchange.answer_json(200, info)

    def _command_shown(self) -> list[str]:
        words = list(self.command.line)
        return [
            "<redacted>" if before.endswith("api-key") else word
            for before, word in zip(["", *words], words, strict=False)
        ]

    async def _metrics(self, exchange: Exchange) -> None:
        engine, shape = self.engine, self.engine.settings.shape
        gauges = metrics_text.Gauges(
            running=len(engine.running),
            queued=len(engine.waiting),
            used_tokens=sum(len(r.prompt) + len(r.output) for r in engine.running),
            max_tokens=engine.settings.max_tokens,
            draft_steps=shape.draft_steps,
            draft_tokens=shape.draft_tokens,
            device_timer=self.device_timer,
            lie=engine.settings.knobs.gauge_factor,
        )
        page = metrics_text.text(
            engine.counters, gauges, version=self.command.version, model=self.args["served_model_name"]
        )
        exchange.answer(200, page.encode(), "text/plain; version=1.0.0; charset=utf-8")

    async def _flush(self, exchange: Exchange) -> None:
        if self.engine.busy:
            old = b"Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n"
            exchange.answer(400, old if self.command.version == "0.5.9" else b"Flush cache failed.\n", None)
            return
        self.engine.cache.flush()
        self.log.line("Cache flushed successfully!")
        exchange.answer(
            200,
            b"Cache flushed.\nPlease check backend logs for more details. "
            b"(When there are running or waiting requests, the operation will not be performed.)\n",
            None,
        )

    async def _start_profile(self, exchange: Exchange) -> None:
        body = replies.read_json(exchange, "start_profile_async") if exchange.body else {}
        folder = Path(body.get("output_dir") or os.environ.get("SGLANG_TORCH_PROFILER_DIR") or "/tmp")  # noqa: S108 - its default
        self.engine.profiler.start(folder, body.get("num_steps"))
        self.log.line(f"Profiling starts. Traces will be saved to: {folder}")
        exchange.answer(200, b"Start profiling.\n", None)

    async def _stop_profile(self, exchange: Exchange) -> None:
        folder = self.engine.profiler.stop()
        await asyncio.to_thread(self.engine.profiler.wait)
        if folder is None:
            exchange.answer(500, b"Internal Server Error", "text/plain; charset=utf-8")
            return
        self.log.line(f"Profiling done. Traces are saved to: {folder}")
        exchange.answer(200, b"Stop profiling. This will take some time.\n", None)

    async def _ping(self, exchange: Exchange) -> None:
        exchange.answer(200, kind=None)
