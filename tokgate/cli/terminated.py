"""SIGTERM and the end of the terminal, taken for Ctrl-C by commands that have something to put back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminated() -> Iterator[None]:
    """Raise KeyboardInterrupt where SIGTERM or SIGHUP comes, once."""
    # Under nohup SIGHUP is ignored, and stays so.
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signal calls it
        for one in numbers:  # a closed terminal tells twice: the second would break into stopping and storing
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
