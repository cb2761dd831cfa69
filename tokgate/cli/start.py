"""Where the program begins: before its parts are loaded, Ctrl-C ends it quietly, and what a shell has closed is opened."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT


def start() -> NoReturn:
    """Run `tokgate`."""
    _open_what_is_closed()
    with loading():
        from tokgate.cli.main import main  # noqa: PLC0415 - Ctrl-C is heeded before it

    main(prog_name="tokgate")
    raise SystemExit(0)


@contextmanager
def loading() -> Iterator[None]:
    """End at once, and without a word, where Ctrl-C comes while modules load: there is nothing yet to be put back."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:  # ignored under nohup, or somebody else's
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    _ = number, frame
    # An exception in the middle of an import is printed by whoever is in its way, 100 lines of it.
    os._exit(INTERRUPTED)


def _open_what_is_closed() -> None:
    """Let what is written to a stream that the shell has closed (`>&-`) go nowhere.

    Python has None for it then, and the next file that is opened gets its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(
                os.open(os.devnull, os.O_RDWR), True
            )  # it gets the lowest free number, this one
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
