"""What the stand-in serves: SGLang's endpoints, each chunk at its absolute deadline."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .answers import Fault, completion_events, generate_events, plan

VERSION = "0.5.23"


@dataclass
class Serving:
    args: dict[str, Any]
    fault: Fault
    pace: float
    log: Callable[[str], None]
    streamed: int = 0
    running: int = 0
    tokens: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def info(self) -> dict[str, Any]:
        return {
            **self.args,
            "version": VERSION,
            "status": "ready",
            "internal_states": [{}],
            "simulated": True,
        }

    def metrics(self) -> str:
        return (
            "# TYPE sglang:num_running_reqs gauge\n"
            f"sglang:num_running_reqs {self.running}\n"
            "# TYPE sglang:generation_tokens_total counter\n"
            f"sglang:generation_tokens_total {self.tokens}\n"
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    serving: Serving

    def log_message(self, *_: object) -> None:
        self.serving.log(f'INFO:     "{self.command} {self.path} HTTP/1.1"')

    def do_GET(self) -> None:
        serving, path = self.serving, self.path.rstrip("/")
        if not self._allowed():
            return
        if path in ("/health", "/health_generate"):
            self._say(200, b"")
        elif path in ("/server_info", "/get_server_info"):
            self._say(200, json.dumps(serving.info()).encode())
        elif path in ("/model_info", "/get_model_info"):
            self._say(200, json.dumps({"model_path": serving.args["model_path"]}).encode())
        elif path == "/metrics" and serving.args["enable_metrics"]:
            self._say(200, serving.metrics().encode(), "text/plain; version=0.0.4")
        else:
            self._say(404, b'{"detail":"Not Found"}')

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._allowed():
            return
        if self.path == "/flush_cache":
            if self.serving.running:
                self._say(400, b"Flush cache failed.", "text/plain")
            else:
                self._say(200, b"Cache flushed.", "text/plain")
        elif self.path in ("/generate", "/v1/completions"):
            self._generate(json.loads(raw))
        else:
            self._say(404, b'{"detail":"Not Found"}')

    def _generate(self, body: dict[str, Any]) -> None:
        serving, fault = self.serving, self.serving.fault
        prompt = body.get("input_ids") or body.get("text") or body.get("prompt") or ""
        wanted = body.get("sampling_params", {}).get("max_new_tokens") or body.get("max_tokens") or 16
        speculative = serving.args["speculative_algorithm"] is not None
        answer = plan(
            json.dumps(prompt), len(prompt), wanted, speculative=speculative, pace=serving.pace, fault=fault
        )
        with serving.lock:
            serving.streamed += bool(body.get("stream"))
            number = serving.streamed
            serving.running += 1
        try:
            if fault.kind == "refuse" and number >= int(fault.argument):
                self._say(500, b'{"error":{"message":"stand-in: out of order"}}')
            elif not body.get("stream"):
                *_, (at, event) = generate_events(answer)
                time.sleep(at)
                self._say(200, json.dumps(event).encode())
            else:
                events = generate_events if self.path == "/generate" else completion_events
                self._stream(events(answer), len(answer.due), number)
        finally:
            with serving.lock:
                serving.running -= 1
                serving.tokens += wanted
        serving.log(
            f"Decode batch, #running-req: 1, #token: {wanted}, token usage: 0.00, "
            f"gen throughput (token/s): {answer.last.get('decode_throughput', 0):.2f}, #queue-req: 0"
        )

    def _stream(self, events: Iterator[tuple[float, dict[str, Any]]], chunks: int, number: int) -> None:
        fault, started = self.serving.fault, time.monotonic()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for index, (at, event) in enumerate(events):
            time.sleep(max(0.0, started + at - time.monotonic()))
            if index == chunks // 2:
                if fault.at("die", number):
                    os.kill(os.getpid(), signal.SIGKILL)
                if fault.at("hang", number):
                    os.kill(os.getpid(), signal.SIGSTOP)
                if fault.at("cut", number):
                    self.close_connection = True
                    return
            self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _allowed(self) -> bool:
        key = self.serving.args["api_key"]
        open_to_all = self.path.startswith(("/health", "/metrics"))
        if key is None or open_to_all or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._say(401, b'{"error":"Unauthorized"}')
        return False

    def _say(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


def serve(serving: Serving) -> ThreadingHTTPServer:
    """Bind; OSError when the port is taken."""
    handler = type("Handler", (_Handler,), {"serving": serving})
    return _Server((serving.args["host"], serving.args["port"]), handler)
