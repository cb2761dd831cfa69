"""A command that another program does: it is run to its own end, and hears the signals that come here."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def handed_over(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> int:
    """Run a program in the foreground, and return its exit code, 128 + N where signal N ended it.

    A gate stops its server and writes its report before it ends; subprocess.run would kill it a quarter of a second
    after Ctrl-C.
    """
    # To a terminal it writes itself, with its colours and widths. Of a pipe's reader that goes away, `| head -1`, it would
    # make a failure of its own, in the middle of its work.
    ours = _number_of_stdout()
    relayed = ours is not None and not os.isatty(ours)
    with _passing_on() as child:
        child.append(
            subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=env,
                stdout=subprocess.PIPE if relayed else None,
                preexec_fn=_ended_with_us(),  # noqa: PLW1509 - no other thread runs here
            )
        )
        if ours is not None and child[0].stdout is not None:
            _relay(child[0].stdout, ours)
        code = child[0].wait()
    return code if code >= 0 else 128 - code


def _ended_with_us() -> Callable[[], None] | None:
    """Return what makes the program hear SIGTERM where this one is killed, which passes nothing on: nobody waits for it any more.

    Only Linux can (prctl(2), PR_SET_PDEATHSIG); elsewhere it runs to its own end.
    """
    if sys.platform != "linux":
        return None
    prctl, ours = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != ours:  # killed before it was asked for
            os.kill(os.getpid(), signal.SIGTERM)

    return bind


def _number_of_stdout() -> int | None:
    try:
        sys.stdout.flush()
        return sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def _relay(said: IO[bytes], into: int) -> None:
    """Write on what a program says, to its end, and drop it once nobody reads it any more."""
    reading = True
    while chunk := os.read(said.fileno(), 1 << 16):
        while chunk and reading:
            try:
                chunk = chunk[os.write(into, chunk) :]
            except BrokenPipeError:
                reading = False
    said.close()


@contextmanager
def _passing_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Pass signals on to the program in the list, which may come later than they do."""
    child: list[subprocess.Popen[bytes]] = []

    def heard(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signal calls it
        if not child:
            raise KeyboardInterrupt
        # Of Ctrl-C the terminal has told it already: a second time would break into its stopping.
        if number != signal.SIGINT or not _in_front():
            with suppress(ProcessLookupError):
                child[0].send_signal(number)

    heeded = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [n for n in heeded if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, heard) for number in numbers}
    try:
        yield child
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_front() -> bool:
    """Say whether a terminal's Ctrl-C reaches this process and what it has started."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
