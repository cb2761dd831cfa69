"""A simulated server for the length of a comparison, and what its truth file says of the requests it served."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from simbox.truth_reader import read

ROOT = Path(__file__).parents[2]
READY_S, WRITTEN_S = 60.0, 10.0
# The tuned box of docs/scenarios.md.
NCCL = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
ARMS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "eagle3": (
        *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "/models/draft"),
        *("--speculative-num-steps", "2", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", "3"),
    ),
}


@dataclass(frozen=True)
class Figures:
    """Means over requests, in the meaning that README.md gives them; None where a client does not tell."""

    ttft_ms: float | None
    itl_ms: float | None  # per token
    tok_s: float | None  # output tokens of all requests over the time from the first sent to the last ended
    gap_ms: float | None = None  # per chunk


class Box:
    def __init__(self, port: int, state: Path) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._state = state
        self._seen = 0

    def forget(self) -> None:
        """Leave out of the next truth what was served so far."""
        self._seen = len(self._requests())

    def truth(self, last: int) -> tuple[Figures, str | None]:
        """Return the truth of the `last` requests since `forget`, and how late the box was, if beyond its limit.

        A late box sent when it says it sent: the truth stays one, but a machine that delays the box delays clients
        as well. SystemExit when not as many requests came. A line is written right after the answer that it is about, so there may be a moment to wait.
        """
        until = time.monotonic() + WRITTEN_S
        while len(served := self._requests()[self._seen :]) < last:
            if time.monotonic() > until:
                sys.exit(f"{len(served)} requests reached the box, not {last}")
            time.sleep(0.05)
        (run,) = read(self._state)
        chosen = sorted(served, key=lambda r: int(r["received_ns"]))[-last:]
        worst, limit = max(us for r in chosen for us in r["late_us"]) / 1000, run.lateness["limit_ms"]
        return _figures(chosen), f"by {worst:.1f} ms, its limit is {limit:g} ms" if worst > limit else None

    def _requests(self) -> tuple[dict[str, Any], ...]:
        return tuple(request for run in read(self._state) for request in run.requests)


def _figures(served: Sequence[dict[str, Any]]) -> Figures:
    seconds = (max(r["end_ns"] for r in served) - min(r["received_ns"] for r in served)) / 1e9
    gaps = [(b - a) / 1e6 for r in served for a, b in zip(r["chunk_ns"], r["chunk_ns"][1:], strict=False)]
    return Figures(
        ttft_ms=fmean(r["ttft_ms"] for r in served),
        itl_ms=fmean((r["e2e_ms"] - r["ttft_ms"]) / (r["completion_tokens"] - 1) for r in served),
        tok_s=sum(r["completion_tokens"] for r in served) / seconds,
        gap_ms=fmean(gaps),
    )


@contextlib.contextmanager
def box(arm: str, folder: Path) -> Iterator[Box]:
    """Run one server of the tuned box, ready when entered, all of it gone when left."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    state, log = folder / "state", folder / "server.log"
    state.mkdir(parents=True)
    command = [sys.executable, "-m", "simbox.launch_server", "--model-path", "/models/target"]
    command += ["--served-model-name", "default", "--tp-size", "2", "--context-length", "4096"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--sim-state", str(state), *ARMS[arm]]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, env=environment | NCCL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        until = time.monotonic() + READY_S
        while "fired up" not in log.read_text(errors="replace"):
            if server.poll() is not None or time.monotonic() > until:
                sys.exit(log.read_text(errors="replace")[-2000:])
            time.sleep(0.05)
        yield Box(port, state)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        down = [sys.executable, "-m", "simbox.box", "down", "--sim-state", str(state)]
        subprocess.run(down, env=environment, stdout=subprocess.DEVNULL, check=True)
