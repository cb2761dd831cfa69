"""One command, its output shown and kept, interrupted at a limit or when this program is."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

KILLED_AFTER_S = 40.0  # an interrupted gate stops its server and writes its reports meanwhile
OUT_OF_TIME = "out of time"
INTERRUPTED = "interrupted"


def run(
    words: Sequence[str], cwd: Path, environment: dict[str, str], log: Path, limit_s: float
) -> tuple[int, str | None]:
    """Return the command's exit code, and why it was stopped: OUT_OF_TIME, INTERRUPTED, or None.

    It has a session of its own: Ctrl-C reaches it once, and by way of us, as SIGTERM does.
    """
    stopping = _Stopping()
    with (
        log.open("wb") as kept,
        _signals(lambda: stopping.stop(INTERRUPTED)),
        subprocess.Popen(
            words,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        stopping.of(process)
        if limit_s != float("inf"):
            stopping.later(limit_s, lambda: stopping.stop(OUT_OF_TIME))
        assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
        while line := process.stdout.readline():
            kept.write(line)
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
        code = process.wait()
        stopping.over()
    return code, stopping.why


class _Stopping:
    """Interrupts a process once, for the first reason there is, and kills it where that does not help."""

    def __init__(self) -> None:
        self.why: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._timers: list[threading.Timer] = []

    def of(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        if self.why is not None:  # before there was a process
            self._interrupt(process)

    def stop(self, reason: str) -> None:
        if self.why is None:
            self.why = reason
            if self._process is not None:
                self._interrupt(self._process)

    def later(self, wait_s: float, act: Callable[[], object]) -> None:
        timer = threading.Timer(wait_s, act)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def over(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _interrupt(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGINT)
        self.later(KILLED_AFTER_S, process.kill)  # the supervisor of a killed gate stops its server


@contextmanager
def _signals(act: Callable[[], object]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
