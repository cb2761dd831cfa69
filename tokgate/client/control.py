"""Plain calls to a server: information, cache, metrics, one generation. Nothing here is timed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import httpx

from tokgate.errors import BenchFault, ServerLost
from tokgate.parsers.foreign_json import ids, load_json, shown, why_not_kept
from tokgate.parsers.meta_info import read_meta_info
from tokgate.records import ServerCounters

from .deadline import Deadline
from .prompts import PromptValue, payload

ANSWER_LIMIT = 32 * 1024 * 1024  # bytes; a /metrics of a busy server has hundreds of thousands
HELLO = PromptValue(text="Hello")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `call` limits a whole call, however slowly the answer drips."""

    connect: float = 5.0
    call: float = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One generation that was not streamed."""

    output_ids: tuple[int, ...] | None
    text: str | None
    counters: ServerCounters


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes

    @property
    def excerpt(self) -> str:
        text = self.body[:300].decode("utf-8", "replace").strip()
        return shown(text, 200) or "(empty body)"


class Control:
    """A server's plain HTTP side. Raises BenchFault, or ServerLost where nothing answers."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        timeouts: Timeouts | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._timeouts = timeouts or Timeouts()
        self._pause = pause
        headers = {"Accept-Encoding": "identity"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        # trust_env: a proxy or a .netrc of the caller's shell has no business between gate and server.
        # One connection a call: a server that was replaced on its port is never spoken to on an old socket.
        self._client = httpx.Client(
            headers=headers,
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def get_json(self, path: str) -> Any:
        """Return the parsed body of GET `path`; BenchFault names URL, status and first bytes otherwise."""
        reply = self._call("GET", path)
        return self._json("GET", path, reply)

    def server_info(self) -> dict[str, Any]:
        """Return launch arguments and internal states, by the path that this version has."""
        path = "/server_info"
        reply = self._call("GET", path)
        if reply.status == 404:
            path = "/get_server_info"
            reply = self._call("GET", path)
        info = self._json("GET", path, reply)
        if not isinstance(info, dict):
            raise self._fault("GET", path, f"not an object: {reply.excerpt}")
        if (why := why_not_kept(info)) is not None:
            raise self._fault("GET", path, f"{why}: {reply.excerpt}")
        return info

    def metrics_text(self) -> str:
        """Return the Prometheus text; a server without --enable-metrics has none."""
        path = "/metrics"
        reply = self._call("GET", path)
        if 300 <= reply.status < 400:
            path = "/metrics/"  # where it is mounted
            reply = self._call("GET", path)
        if reply.status != 200:
            raise self._fault("GET", path, f"HTTP {reply.status}: {reply.excerpt}")
        return reply.body.decode("utf-8", "replace")

    def health(self) -> bool:
        """Return whether /health says 200. It sleeps a second, and says 200 through a hang: no proof of life."""
        try:
            return self._call("GET", "/health").status == 200
        except BenchFault:
            return False

    def flush_cache(self, *, limit_s: float = 30.0) -> None:
        """Empty the prefix cache. A server with requests under way says 400: asked again until `limit_s`."""
        deadline = time.monotonic() + limit_s
        wait = 0.05
        while True:
            reply = self._call("POST", "/flush_cache")
            if reply.status == 200:
                return
            if reply.status != 400:
                raise self._fault("POST", "/flush_cache", f"HTTP {reply.status}: {reply.excerpt}")
            if time.monotonic() + wait > deadline:
                raise self._fault(
                    "POST",
                    "/flush_cache",
                    f"still refused after {limit_s:g} s: {reply.excerpt}",
                    do="find out which requests are still running; nobody else may use this server",
                )
            self._pause(wait)
            wait = min(wait * 2, 0.5)

    def generate_once(
        self, prompt: PromptValue = HELLO, *, tokens: int = 4, timeout_s: float | None = None
    ) -> Answer:
        """Generate for real, once: the only proof that a server is ready, or still alive."""
        body = payload("generate", prompt, output_tokens=tokens, request_id="tokgate-probe", stream=False)
        del body["rid"]  # a fixed id would collide with a probe that is still under way
        reply = self._call("POST", "/generate", body=body, limit_s=timeout_s)
        found = self._json("POST", "/generate", reply)
        meta_info = found.get("meta_info") if isinstance(found, dict) else None
        counters = read_meta_info(meta_info)
        if counters.completion_tokens is None or counters.completion_tokens < 1:
            raise self._fault("POST", "/generate", f"no token was generated: {reply.excerpt}")
        text = found.get("text")
        return Answer(
            output_ids=ids(found.get("output_ids")),
            text=text if isinstance(text, str) else None,
            counters=counters,
        )

    def start_profile(self, folder: str, *, steps: int, limit_s: float) -> None:
        """Let torch's profiler watch the next `steps` forward passes; each rank then writes a trace into `folder`.

        The names are those of every SGLang from 0.5.6 to 0.5.23. BenchFault where the server has no profiler.
        """
        body = {
            "output_dir": folder,
            "num_steps": steps,
            "activities": ["CPU", "GPU"],
            "with_stack": False,
            "record_shapes": False,
        }
        self._told("/start_profile", body, limit_s)

    def stop_profile(self, *, limit_s: float) -> None:
        """End a profile that has not ended by itself. BenchFault where none runs."""
        self._told("/stop_profile", None, limit_s)

    def _told(self, path: str, body: Mapping[str, Any] | None, limit_s: float) -> None:
        reply = self._call("POST", path, body=body, limit_s=limit_s)
        if reply.status != 200:
            raise self._fault("POST", path, f"HTTP {reply.status}: {reply.excerpt}")

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        limit_s: float | None = None,
    ) -> _Reply:
        limit_s = self._timeouts.call if limit_s is None else limit_s
        deadline = Deadline(limit_s)
        timeout = httpx.Timeout(limit_s, connect=min(self._timeouts.connect, limit_s))
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        seen = {"trace": deadline.trace}
        kept, url = bytearray(), self.base_url + path
        try:
            request = self._client.build_request(
                method, url, content=content, headers=headers, timeout=timeout, extensions=seen
            )
            with deadline, closing(self._client.send(request, stream=True)) as response:
                for piece in response.iter_raw():
                    kept += piece
                    if len(kept) > ANSWER_LIMIT:
                        raise self._fault(method, path, f"an answer of more than {ANSWER_LIMIT} bytes")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            late = isinstance(error, httpx.TimeoutException)
            if late or not deadline.over:
                found = f"no answer within {limit_s:g} s ({_words(error)})" if late else _words(error)
                raise self._lost(method, path, found) from error
        if deadline.over:  # an answer without a length ends where its connection does
            raise self._lost(method, path, f"an answer still dripping after {limit_s:g} s")
        return _Reply(response.status_code, bytes(kept))

    def _json(self, method: str, path: str, reply: _Reply) -> Any:
        if reply.status != 200:
            raise self._fault(method, path, f"HTTP {reply.status}: {reply.excerpt}")
        value, why = load_json(reply.body.decode("utf-8", "replace"))
        if why is not None:
            raise self._fault(method, path, f"HTTP 200, but no whole JSON ({why}): {reply.excerpt}")
        return value

    def _fault(self, method: str, path: str, found: str, *, do: str | None = None) -> BenchFault:
        return BenchFault(
            tried=f"{method} {self.base_url}{path}",
            found=found,
            do=do or "look into the server's log for this request",
        )

    def _lost(self, method: str, path: str, found: str) -> ServerLost:
        return ServerLost(
            tried=f"{method} {self.base_url}{path}",
            found=found,
            do="look whether the server process lives, and into the end of its log",
        )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
