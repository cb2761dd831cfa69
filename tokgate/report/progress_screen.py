"""A program that shows progress on a terminal, beside the process that measures.

    python -m tokgate.report.progress_screen [--no-colour]     with a datagram socket as its standard input

It is a process of its own so that no drawing takes Python's lock from the client's loop (docs/terminal.md has the
figures). It ends when the other side of the socket is gone, however that one ended, and leaves the terminal as it was:
cursor shown, nothing of it on the screen. Imports are few: it starts beside a gate that is about to measure.

Messages are JSON: {"view": {…}} shows a View, {"say": "…"} prints a line above it, {"hide": true} takes it off the
screen and is answered with one byte.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from types import FrameType
from typing import Any

# Ctrl-C goes to every process of the terminal; this one ends when the gate does, whose report comes first.
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTTOU):
    signal.signal(_number, signal.SIG_IGN)

from rich.console import Console, Group  # noqa: E402 - after the signals
from rich.live import Live  # noqa: E402
from rich.progress_bar import ProgressBar  # noqa: E402
from rich.table import Table  # noqa: E402
from rich.text import Text  # noqa: E402

from tokgate.report import durations, progress_words, simulated  # noqa: E402
from tokgate.report.progress_view import View  # noqa: E402
from tokgate.report.visible import fit, wrapped  # noqa: E402

REFRESH_S = 0.5
LEAST_S = 0.25  # between two drawings
WIDTH = 80
SAYS = "tokgate  "
_BAR = 24
_MESSAGE = 1 << 16


class Screen:
    """`console` writes to the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._view: View | None = None
        self._drawn_at = 0.0

    def show(self, view: View) -> None:
        self._view = view
        self.draw()

    def say(self, words: str) -> None:
        width = min(self._console.width, WIDTH)
        for row in wrapped(words, width, first=SAYS, indent=" " * len(SAYS)):
            self._console.print(Text(row), soft_wrap=True)

    def hide(self) -> None:
        self._view = None
        if self._live is not None:
            self._live.stop()
            self._live = None

    def draw(self, *, at_once: bool = False) -> None:
        """Draw what is to be seen now, unless it was drawn a moment ago or the terminal is somebody else's."""
        now = time.monotonic()
        if self._view is None or not (at_once or now - self._drawn_at >= LEAST_S) or not _in_front():
            return
        self._drawn_at = now
        shown = region(self._view, now, width=min(self._console.width, WIDTH) - 1)
        if self._live is None:
            self._live = Live(
                shown, console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop"
            )
            self._live.start(refresh=True)
        else:
            self._live.update(shown, refresh=True)

    def suspend(self, _number: int, _frame: FrameType | None) -> None:
        """Leave a terminal in order while the job is stopped (Ctrl-Z)."""
        view = self._view
        self.hide()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._view = view
        self.draw(at_once=True)


def region(view: View, now: float, *, width: int) -> Group:
    """Return three lines, more where they are too long: where it stands, how far it is, how long it takes."""
    label = f"{simulated.WORD} " if view.simulated else ""
    first = progress_words.packed(
        [f"{label}{progress_words.where(view)}".strip(), progress_words.doing(view)], width
    )
    bar = Table.grid(padding=(0, 2, 0, 0))
    share = 0.0 if view.share is None else view.share
    told = "  ".join(part for part in (progress_words.count(view), progress_words.rates(view)) if part)
    long = min(_BAR, max(width // 3, 4))
    bar.add_row(
        ProgressBar(total=1.0, completed=share, width=long),
        Text(fit(told, max(width - long - 2, 1)), style="bold"),
    )
    times = [f"session {durations.clock(now - view.began)}"]
    if view.launch_began is not None:
        times.append(f"launch {durations.clock(now - view.launch_began)}")
    times.append(progress_words.left(view, now))
    return Group(
        Text("\n".join(first), style="cyan"),
        bar,
        Text("\n".join(progress_words.packed(times, width)), style="dim"),
    )


def _in_front() -> bool:
    """Say whether this job has the terminal: of one in the background nothing is drawn over the shell."""
    try:
        return os.tcgetpgrp(1) == os.getpgrp()
    except OSError:
        return True  # not our controlling terminal, e.g. a pty of a test


def serve(screen: Screen, told: socket.socket) -> None:
    """Obey until the other side is gone."""
    while True:
        ready, _, _ = select.select([told], [], [], REFRESH_S)
        if not ready:
            screen.draw()
            continue
        message = told.recv(_MESSAGE)
        if not message:
            return
        with contextlib.suppress(ValueError, TypeError):  # one garbled message is not worth a terminal
            obey(screen, json.loads(message), told)


def obey(screen: Screen, message: dict[str, Any], told: socket.socket) -> None:
    if "hide" in message:
        screen.hide()
        told.send(b"\n")
    elif "say" in message:
        screen.say(str(message["say"]))
    elif "view" in message:
        screen.show(View(**message["view"]))


def main() -> None:
    with contextlib.suppress(OSError):
        os.nice(10)  # what is measured goes first
    console = Console(force_terminal=True, no_color="--no-colour" in sys.argv, highlight=False)
    screen = Screen(console)
    signal.signal(signal.SIGTSTP, screen.suspend)
    with socket.socket(fileno=os.dup(0)) as told:
        try:
            serve(screen, told)
        except OSError:
            pass  # the terminal is gone
        finally:
            with contextlib.suppress(OSError):
                screen.hide()


if __name__ == "__main__":
    main()
