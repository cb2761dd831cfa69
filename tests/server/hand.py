"""A supervisor driven by hand, and looks at real processes."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokgate.server import supervisor


def wait_for(what: Callable[[], Any], *, limit_s: float = 20.0) -> Any:
    """Ask until the answer is true; fail loudly when the limit passes."""
    limit = time.monotonic() + limit_s
    while not (answer := what()):
        assert time.monotonic() < limit, f"not within {limit_s} s: {what}"
        time.sleep(0.02)
    return answer


def lives(pid: int, start_ticks: int | None = None) -> bool:
    row = supervisor.read_row(pid)
    return row is not None and row.state not in "ZX" and start_ticks in (None, row.start_ticks)


def marked(mark: str) -> list[int]:
    """Every living process of this machine with that mark in its environment."""
    return [p for p in supervisor.read_rows() if supervisor.carries(p, mark) and lives(p)]


class Hand:
    """A gate's end of the supervisor's pipes, moved by hand."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = folder
        self.mark = mark
        self.log = folder / "server.log"
        self.said: list[dict[str, Any]] = []
        self.rest = b""
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def order(self, line: str, **changes: Any) -> dict[str, Any]:
        """Send the order and return the first answer."""
        order = {
            "line": line,
            "environment": {"PATH": os.defpath, "TOKGATE_MARK": self.mark},
            "log": str(self.log),
            "cwd": str(self.folder),
            "mark": self.mark,
            "folder": str(self.folder),
            "stop_timeout_s": 10,
            "time_limit_s": 120,
            "gate": None,
            "heartbeat_limit_s": None,
        }
        self.tell(order | changes)
        return self.hear()

    def tell(self, message: dict[str, Any]) -> None:
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdin.flush()

    def hear(self, *, limit_s: float = 20.0) -> dict[str, Any]:
        """Return the next message."""
        limit = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.stdout, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                assert selector.select(max(0.0, limit - time.monotonic())), f"silent for {limit_s} s"
                piece = os.read(self.stdout.fileno(), 65536)
                assert piece, f"the supervisor ended after {self.said}"
                self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        self.said.append(json.loads(line))
        return self.said[-1]

    def hear_of(self, event: str, *, limit_s: float = 20.0) -> dict[str, Any]:
        while (message := self.hear(limit_s=limit_s))["event"] != event:
            pass
        return message

    def stop(self) -> dict[str, Any]:
        self.tell({"stop": 1})
        return self.hear_of("stopped")

    def clean(self) -> None:
        if not self.stdin.closed:
            self.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.stdout.close()
            for pid in marked(self.mark):
                os.kill(pid, signal.SIGKILL)
