"""Start the simulated server as a process, talk to it, and read what it says it did."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
TUNED = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
EAGLE3 = [
    "--speculative-algorithm",
    "EAGLE3",
    "--speculative-draft-model-path",
    "/models/draft",
    "--speculative-num-steps",
    "2",
    "--speculative-eagle-topk",
    "1",
    "--speculative-num-draft-tokens",
    "3",
]
# Starts and stops at once; everything else as on the tuned box.
QUICK = "[knobs]\nstart_s = 0.0\nwatchdog_poll_s = 0.1\n"


@dataclass
class Serving:
    """A server process. `lines`: all it has written, growing."""

    process: subprocess.Popen[str]
    port: int
    state: Path
    lines: list[str] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)

    def listen(self) -> None:
        """Collect the output until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self.lines.append("(end of output)")
            self._news.notify_all()

    def await_line(self, words: str, timeout_s: float = 30.0) -> str:
        """Wait for a line with these words; an early end of the output is an error that shows it."""
        seen = 0
        with self._news:
            while True:
                for line in self.lines[seen:]:
                    if words in line:
                        return line
                    assert line != "(end of output)" or words in line, "\n".join(self.lines[-30:])
                seen = len(self.lines)
                assert self._news.wait(timeout_s), f"no {words!r} in\n" + "\n".join(self.lines[-30:])

    def ask(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, timeout_s: float = 20.0
    ) -> tuple[int, bytes]:
        """Send one request, read the whole answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        payload = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request(method, path, payload, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def json(self, path: str) -> Any:
        status, body = self.ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    def generate(self, text: str = "a prompt", tokens: int = 8, **more: Any) -> Any:
        """POST /generate, the answer as JSON."""
        sampling = {"max_new_tokens": tokens, "ignore_eos": True, "temperature": 0}
        status, body = self.ask("POST", "/generate", {"text": text, "sampling_params": sampling, **more})
        assert status == 200, body
        return json.loads(body)

    def stream(self, text: str = "a prompt", tokens: int = 8) -> list[str]:
        """POST /generate with a stream, the data of its events."""
        sampling = {"max_new_tokens": tokens, "ignore_eos": True, "temperature": 0}
        status, body = self.ask(
            "POST", "/generate", {"text": text, "stream": True, "sampling_params": sampling}
        )
        assert status == 200, body
        return [e.removeprefix("data: ") for e in body.decode().split("\n\n") if e]

    @contextlib.contextmanager
    def streaming(self, text: str, tokens: int) -> Iterator[Iterator[str]]:
        """POST /generate with a stream, its events as they come; they end where the connection does."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20.0)
        sampling = {"max_new_tokens": tokens, "ignore_eos": True}
        body = json.dumps({"text": text, "stream": True, "sampling_params": sampling})
        with contextlib.closing(connection):
            connection.request("POST", "/generate", body)
            answer = connection.getresponse()
            yield (line.decode().strip().removeprefix("data: ") for line in answer if line.strip())

    def truth(self, kind: str, *, expected: int = 0) -> list[dict[str, Any]]:
        """Read the truth file's lines of one kind; of requests not the server's own warm-up.

        A line is written just after the answer that it is about, so `expected` of them are waited for.
        """
        for _ in range(500):
            lines = self._truth(kind)
            if len(lines) >= expected:
                return lines
            threading.Event().wait(0.01)
        raise AssertionError(f"only {len(lines)} {kind} lines")

    def _truth(self, kind: str) -> list[dict[str, Any]]:
        found = [
            json.loads(line)
            for file in sorted(self.state.glob("runs/*/truth.jsonl"))
            for line in file.read_text().splitlines()
            if line.endswith("}")
        ]
        return [t for t in found if t["kind"] == kind and t.get("number") != 0]

    def children(self) -> dict[str, int]:
        """Return title (or command) and pid of every child process."""
        pid = self.process.pid
        pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {
            Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip(): int(child)
            for child in pids
        }


@contextlib.contextmanager
def serving(
    state: Path, *arguments: str, knobs: str = "", scenarios: Sequence[str] = (), **environment: str
) -> Iterator[Serving]:
    """Run a server with its own state folder until the block ends; ready when entered."""
    with launched(state, *arguments, knobs=knobs, scenarios=scenarios, **environment) as server:
        server.await_line("fired up")
        yield server


@contextlib.contextmanager
def launched(
    state: Path, *arguments: str, knobs: str = "", scenarios: Sequence[str] = (), **environment: str
) -> Iterator[Serving]:
    """Start a server without waiting for it."""
    state.parent.mkdir(parents=True, exist_ok=True)
    quick = state.with_name(f"{state.name}.quick.toml")
    quick.write_text(QUICK + knobs)
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    command = [sys.executable, "-m", "simbox.launch_server", "--model-path", "/models/target"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--sim-state", str(state)]
    command += [word for name in (*scenarios, str(quick)) for word in ("--sim-scenario", name)]
    closed = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command, *arguments],
        env=closed | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    server = Serving(process, port, state)
    listener = threading.Thread(target=server.listen)
    listener.start()
    try:
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
        # Strays of scenarios end with the box.
        subprocess.run(
            [sys.executable, "-m", "simbox.box", "down", "--sim-state", str(state)],
            env=closed,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        listener.join(30)
        assert process.stdout is not None
        process.stdout.close()
