"""Where the program begins: before its parts are loaded, Ctrl-C ends it quietly, and what a shell has closed is opened."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT


# `git bisect run` takes 1 to 124 for "bad" and 126, 127 as well; 125 skips a commit, and 128 and more end it.
STOPS_GIT = 128
_FOR_GIT = (0, 1, 125)


def start() -> NoReturn:
    """Run `tokgate`."""
    _open_what_is_closed()
    with loading():
        from tokgate.cli.main import main  # noqa: PLC0415 - Ctrl-C is heeded before it

    try:
        main(prog_name="tokgate")
    except SystemExit as ended:
        raise SystemExit(for_git(ended.code, sys.argv[1:])) from None
    raise SystemExit(0)


def for_git(code: object, words: Sequence[str]) -> object:
    """Return the exit code: of `tokgate bisect` none that git takes for a bad commit, but the one that says so.

    A slip on the way there (`--root` of another folder, an option in the wrong place, a full disk) must not blame a commit.
    """
    if "bisect" not in words or code is None or code in _FOR_GIT:
        return code
    return code if isinstance(code, int) and code >= STOPS_GIT else STOPS_GIT


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
