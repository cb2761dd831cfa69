"""How much this client can take on this machine, measured against a server that does nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokgate.errors import BenchFault

from .exchange import Request, Target
from .stream import BatchOutcome, run_batch

NULL_SERVER = Path(__file__).with_name("null_server.py")
_SENT = re.compile(rb'"sent_ns":(\d+)')


@dataclass(frozen=True, slots=True)
class Headroom:
    """Lag is from the server's send to our stamp; `server_late` is how late that server itself was."""

    ceiling_events_per_s: float  # events a second at which the client would use one whole core
    cpu_us_per_event: float
    lag_p50_ms: float
    lag_p99_ms: float
    server_late_p99_ms: float | None


def measure_ceiling() -> float:
    """Return the events a second that would keep one core busy; takes about a second and a half."""
    return measure_headroom().ceiling_events_per_s


def measure_headroom(*, streams: int = 32, rate: float = 50.0, seconds: float = 1.0) -> Headroom:
    """Run one barrier start against a null server in a process of its own.

    Events are spread evenly, so that nearly each of them wakes the client: the dearest case. BenchFault when the
    null server does not start or not all of its events arrive.
    """
    tokens = max(1, round(rate * seconds))
    with null_server("--rate", str(rate)) as server:
        outcome = run_batch(
            Target("127.0.0.1", server.port), null_requests(streams, tokens), timeout_s=seconds * 3 + 10
        )
        report = server.finish()
    lags = lags_ms(outcome)
    if len(lags) != streams * tokens:
        raise BenchFault(
            tried=f"take {streams * tokens} events from a null server on this machine",
            found=f"{len(lags)} arrived ({next((r.error for r in outcome.responses if r.error), 'no error')})",
            do="look whether this machine is overloaded",
        )
    late = report.get("late_p99_ms")
    return Headroom(
        ceiling_events_per_s=len(lags) / outcome.load.cpu_s,
        cpu_us_per_event=outcome.load.cpu_s / len(lags) * 1e6,
        lag_p50_ms=lags[len(lags) // 2],
        lag_p99_ms=lags[int(len(lags) * 0.99)],
        server_late_p99_ms=late if isinstance(late, float) else None,
    )


def null_requests(streams: int, tokens: int) -> tuple[Request, ...]:
    body = {"sampling_params": {"max_new_tokens": tokens}, "stream": True}
    return tuple(Request(f"null-{i}", "generate", body, tokens) for i in range(streams))


def lags_ms(outcome: BatchOutcome) -> list[float]:
    """Return the lag of every event, smallest first."""
    return sorted(
        (arrived - int(sent)) / 1e6
        for response in outcome.responses
        for arrived, data in response.pieces
        for sent in _SENT.findall(data)
    )


class NullServerProcess:
    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self.port = port

    def finish(self) -> dict[str, Any]:
        """End it and return what it did."""
        try:
            out, _ = self._process.communicate(timeout=10)
            report: dict[str, Any] = json.loads(out)
        except (subprocess.TimeoutExpired, ValueError) as error:
            raise BenchFault(
                tried="read the null server's report", found=str(error), do="look at this machine's load"
            ) from error
        return report


@contextmanager
def null_server(*arguments: str) -> Iterator[NullServerProcess]:
    """Start the null server with these arguments; it ends with the block, and with this process."""
    process = subprocess.Popen(
        # By its path and isolated: it needs nothing but the standard library.
        [sys.executable, "-I", str(NULL_SERVER), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout is not None else ""
        try:
            port = int(json.loads(line)["port"])
        except (ValueError, KeyError) as error:
            raise BenchFault(
                tried=f"start {NULL_SERVER.name} on a free port of 127.0.0.1",
                found=f"it said {line[:200]!r}",
                do="look at its error output above",
            ) from error
        yield NullServerProcess(process, port)
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError, ValueError):
                    pipe.close()
        process.kill()
        process.wait()
