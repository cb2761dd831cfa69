"""What the stand-in serves: SGLang's endpoints, outputs that follow from the prompt, a pace by absolute deadlines.

Its counters tell the pace it was built for, not the one that a busy machine let it keep: verdicts on them
are the same on any machine, and what the client itself saw has wide floors in the tests' rigs.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VERSION = "0.5.23"
FIRST_TOKEN_S = 0.02
STEP_S = 1 / 300  # a plain decode step
CYCLE_S = STEP_S * 1.25  # draft and verify
ACCEPTED = (0, 1, 1, 2, 0, 1, 1)  # drafts per verify call: accept length 1.86


@dataclass(frozen=True)
class Fault:
    """One order to misbehave. Requests are counted from 1, streamed ones only: warm-ups are the first.

    die:N, hang:N (SIGKILL, SIGSTOP in the middle of request N) · cut:N · refuse:N (500 from N on) · reuse (prefix
    cache hits) · accept-nothing · slow:FACTOR (a cycle) · garble (another output under speculation) ·
    ignore-term · leave-a-child · drop-variable:NAME (of one child) · write-nothing · fall-silent · run-out-of-memory
    """

    kind: str = ""
    argument: str = ""

    @classmethod
    def from_text(cls, text: str) -> Fault:
        kind, _, argument = text.partition(":")
        return cls(kind, argument)

    def at(self, kind: str, request: int) -> bool:
        return self.kind == kind and request == int(self.argument)


@dataclass
class Serving:
    args: dict[str, Any]
    fault: Fault
    pace: float
    log: Callable[[str], None]
    streamed: int = 0
    running: int = 0
    tokens: int = 0
    verify_calls: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def speculative(self) -> bool:
        return self.args["speculative_algorithm"] is not None

    def info(self) -> dict[str, Any]:
        return {**self.args, "version": VERSION, "status": "ready", "internal_states": [{}]}

    def metrics(self) -> str:
        return (
            "# TYPE sglang:num_running_reqs gauge\n"
            f"sglang:num_running_reqs {self.running}\n"
            "# TYPE sglang:generation_tokens_total counter\n"
            f"sglang:generation_tokens_total {self.tokens}\n"
            "# TYPE sglang:spec_verify_calls_total counter\n"
            f"sglang:spec_verify_calls_total {self.verify_calls}\n"
        )


@dataclass(frozen=True)
class Answer:
    """A generation as planned: how many tokens are out after which time, and the counters at its end."""

    ids: list[int]
    due: list[tuple[float, int]]  # seconds after the request, tokens so far
    meta: dict[str, Any]
    last: dict[str, Any]  # counters that only the last chunk has


def plan(serving: Serving, prompt: str, prompt_tokens: int, wanted: int) -> Answer:
    fault, seed = serving.fault, zlib.crc32(prompt.encode())
    drawn = random.Random(seed)
    ids = [drawn.randrange(3, 2000) for _ in range(wanted)]
    if serving.speculative and fault.kind == "garble":
        ids[wanted // 2] += 1
    pace = serving.pace * (1 + (seed % 7 - 3) / 2000)  # prompts differ a little
    due, histogram = [(FIRST_TOKEN_S, 1)], [0, 0, 0]
    at = FIRST_TOKEN_S
    while due[-1][1] < wanted:
        drafts = 0
        if serving.speculative:
            drafts = 0 if fault.kind == "accept-nothing" else ACCEPTED[len(due) % len(ACCEPTED)]
            histogram[drafts] += 1
        step = CYCLE_S if serving.speculative else STEP_S
        at += step * pace * (float(fault.argument) if fault.kind == "slow" else 1)
        due.append((at, min(wanted, due[-1][1] + 1 + drafts)))
    calls = sum(histogram)
    meta: dict[str, Any] = {
        "id": f"{seed:08x}",
        "finish_reason": None,
        "prompt_tokens": prompt_tokens,
        "weight_version": "default",
        "num_retractions": 0,
        "cached_tokens": prompt_tokens - 1 if fault.kind == "reuse" else 0,
        "dp_rank": None,
    }
    last: dict[str, Any] = {
        "finish_reason": {"type": "length", "length": wanted},
        "e2e_latency": at,
        "first_token_latency": FIRST_TOKEN_S,
        "queue_time": 0.0002,
    }
    if wanted > 1:
        last["decode_throughput"] = (wanted - 1) / (at - FIRST_TOKEN_S)
    if calls:
        last |= {
            "spec_verify_ct": calls,
            "spec_accept_length": wanted / calls,
            "spec_num_correct_drafts": histogram[1] + 2 * histogram[2],
            "spec_num_proposed_drafts": 2 * calls,
            "spec_correct_drafts_histogram": histogram,
        }
    return Answer(ids, due, meta, last)


def generate_events(answer: Answer) -> Iterator[tuple[float, dict[str, Any]]]:
    """SGLang's own stream: text and ids are cumulative."""
    for at, total in answer.due:
        ended = total == len(answer.ids)
        meta = {**answer.meta, "completion_tokens": total, **(answer.last if ended else {})}
        text = "".join(f"t{i} " for i in answer.ids[:total])
        yield at, {"text": text, "output_ids": answer.ids[:total], "meta_info": meta}


def openai_events(answer: Answer, *, chat: bool) -> Iterator[tuple[float, dict[str, Any]]]:
    """OpenAI's: text comes in pieces, counts beside them, speculation at the end."""
    before = 0
    for at, total in answer.due:
        ended = total == len(answer.ids)
        ids, before = answer.ids[before:total], total
        text = "".join(f"t{i} " for i in ids)
        said: dict[str, Any] = {"delta": {"content": text}} if chat else {"text": text, "token_ids": ids}
        usage = {
            "prompt_tokens": answer.meta["prompt_tokens"],
            "completion_tokens": total,
            "prompt_tokens_details": {"cached_tokens": answer.meta["cached_tokens"]},
        }
        yield (
            at,
            {"choices": [{"index": 0, **said, "finish_reason": "length" if ended else None}], "usage": usage},
        )
    details = {key: value for key, value in answer.last.items() if key.startswith("spec_")}
    if details:
        yield at, {"choices": [], "sglext": {"spec_tokens_details": details}}


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
            self._say(
                200, json.dumps({"model_path": serving.args["model_path"], "is_generation": True}).encode()
            )
        elif path == "/v1/models":
            self._say(200, json.dumps({"data": [{"id": serving.args["model_path"]}]}).encode())
        elif path == "/metrics" and serving.args["enable_metrics"]:
            self._say(200, serving.metrics().encode(), "text/plain; version=0.0.4")
        else:
            self._say(404, b'{"detail":"Not Found"}')

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._allowed():
            return
        if self.path == "/flush_cache":
            busy = self.serving.running > 0
            self._say(
                400 if busy else 200, b"Flush cache failed." if busy else b"Cache flushed.", "text/plain"
            )
        elif self.path in ("/generate", "/v1/completions", "/v1/chat/completions"):
            self._generate(json.loads(raw))
        else:
            self._say(404, b'{"detail":"Not Found"}')

    def _generate(self, body: dict[str, Any]) -> None:
        serving, fault = self.serving, self.serving.fault
        prompt = body.get("input_ids") or body.get("text") or body.get("prompt") or body.get("messages")
        wanted = body.get("sampling_params", {}).get("max_new_tokens") or body.get("max_tokens") or 16
        answer = plan(serving, json.dumps(prompt), len(prompt or ""), wanted)
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
            elif self.path == "/generate":
                self._stream(generate_events(answer), len(answer.due), number)
            else:
                chat = self.path.endswith("/chat/completions")
                self._stream(openai_events(answer, chat=chat), len(answer.due), number)
        finally:
            with serving.lock:
                serving.running -= 1
                serving.tokens += wanted
                serving.verify_calls += answer.last.get("spec_verify_ct", 0)
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
