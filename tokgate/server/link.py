"""The gate's end of one supervisor: its events, its heartbeats, and its server kept through a dropped connection."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence

from tokgate.errors import HostFault

from .comeback import Comeback
from .events import Event, Exit, State

# A heartbeat may be lost or late several times before the limit; more often would only make noise.
BEATS_PER_LIMIT = 6
SLOWEST_BEAT_S = 10.0
# Without draining: what the supervisor takes at most, KILL and a slow driver included.
ABANDON_S = 45.0
# After its last word a supervisor only has to end.
GOODBYE_S = 10.0
SHELL_SIGNAL = 128


class Link:
    """Owns the local process (the supervisor itself, or the ssh that leads to it) and one thread."""

    def __init__(
        self,
        argv: Sequence[str],
        order: Event,
        *,
        heartbeat_limit_s: float | None = None,
        comeback: Comeback | None = None,
    ) -> None:
        """Start it and send the order. OSError: there is no such program on this machine."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        try:
            # A session of its own: Ctrl-C in the gate's terminal is the gate's to handle.
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,
            )
        except OSError:
            self._said.close()
            raise
        self._comeback = comeback
        self._limit_s = heartbeat_limit_s
        self._beat_s = min(heartbeat_limit_s / BEATS_PER_LIMIT, SLOWEST_BEAT_S) if heartbeat_limit_s else None
        self._events: dict[str, Event] = {}  # each kind comes at most once, but for "state": the latest
        self._news = threading.Condition()
        self._writing = threading.Lock()
        self._ended = False  # the local process has closed its stdout
        self._given_up = comeback is None  # once ended, nothing more will come
        self._nudged = threading.Event()
        self._stopping = self._closing = False
        self._asked = 0
        self._send(order)
        self._thread = threading.Thread(target=self._listen, name="tokgate-link", daemon=True)
        self._thread.start()

    @property
    def exit(self) -> Exit | None:
        event = self._events.get("exited") or self._events.get("stopped")
        if event is None:
            return None
        rc = event.get("rc")
        if rc is not None and SHELL_SIGNAL < rc <= SHELL_SIGNAL + signal.SIGRTMAX:
            # A shell that did not exec its command (dash, where output is redirected) tells its child's death so.
            return Exit(None, rc - SHELL_SIGNAL)
        return Exit(rc, event.get("signal"))

    @property
    def ended_alone(self) -> Exit | None:
        """How it ended where nobody had stopped it."""
        event = self._events.get("exited")
        return Exit(event.get("rc"), event.get("signal")) if event else None

    @property
    def stopped_because(self) -> str | None:
        """The supervisor's reason ("asked", "time-limit", …), once it has stopped the server."""
        event = self._events.get("stopped")
        return str(event.get("reason")) if event else None

    @property
    def lost(self) -> bool:
        """Whether nothing more will come although no stop was reported: the supervisor or its host is gone."""
        return self._ended and self._given_up and "stopped" not in self._events

    @property
    def alive(self) -> bool:
        """What is known without asking: cheap enough to be read while measuring."""
        return self.exit is None and not self.lost

    def said(self) -> str:
        """Return what came on stderr: ssh's complaints, or the supervisor's own traceback."""
        self._said.seek(0)
        return self._said.read().decode("utf-8", "backslashreplace").strip()

    def returncode(self) -> int | None:
        return self._process.poll()

    def first_answer(self, *, timeout_s: float) -> Event | None:
        """Return "started" or "refused"; None: neither came."""
        with self._news:
            self._news.wait_for(lambda: self._ended or {"started", "refused"} & set(self._events), timeout_s)
            return self._events.get("started") or self._events.get("refused")

    def state(self, *, timeout_s: float) -> State | None:
        """Ask whether the server lives and how long its log is; None: nobody answers."""
        self._asked += 1
        number = self._asked
        self._send({"state": number})
        answer = self._await(lambda: self._latest("state", number) or self._folder_state(), timeout_s)
        return State(bool(answer["alive"]), answer["log_bytes"]) if answer else None

    def stop(self, *, timeout_s: float) -> Event | None:
        """Ask for the stop and wait for the report; None: none came."""
        self._stopping = True
        self._send({"stop": 1})
        self._nudged.set()
        return self._await(lambda: self._events.get("stopped"), timeout_s)

    def close(self) -> None:
        """Let go of it, once. A server that has not been stopped by then is abandoned: ended without draining."""
        if self._closing:
            return
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        if not ({"stopped", "refused"} & set(self._events)) and not self._ended:
            self._send({"abandon": 1})
            self._await(lambda: self._events.get("stopped"), ABANDON_S)
        self._closing = True
        self._nudged.set()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        self._process.stdout.close()
        self._said.close()

    def _send(self, message: Event) -> None:
        assert self._process.stdin is not None  # noqa: S101
        with self._writing, contextlib.suppress(OSError, ValueError):  # its end is noticed by the reader
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _latest(self, kind: str, number: int) -> Event | None:
        event = self._events.get(kind)
        return event if event is not None and event.get(kind) == number else None

    def _await(self, find: Callable[[], Event | None], timeout_s: float) -> Event | None:
        with self._news:
            self._news.wait_for(lambda: find() or self.lost, timeout_s)
            return find()

    def _folder_state(self) -> Event | None:
        if self._comeback is None or not self._ended:
            return None
        with contextlib.suppress(HostFault):
            return {"alive": self.exit is None, "log_bytes": self._comeback.log_bytes()}
        return None

    def _take(self, event: Event) -> None:
        with self._news:
            self._events[str(event.get("event"))] = event
            self._news.notify_all()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        descriptor = self._process.stdout.fileno()
        rest = b""
        next_beat = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                if self._beat_s is not None and time.monotonic() >= next_beat:
                    self._send({"heartbeat": 1})
                    next_beat = time.monotonic() + self._beat_s
                wait_s = None if self._beat_s is None else max(0.0, next_beat - time.monotonic())
                if not selector.select(wait_s):
                    continue
                piece = os.read(descriptor, 65536)
                if not piece:
                    break
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    with contextlib.suppress(ValueError):  # a login script's greeting
                        event = json.loads(line)
                        if isinstance(event, dict):
                            self._take(event)
        with self._news:
            self._ended = True
            self._news.notify_all()
        self._come_back()

    def _come_back(self) -> None:
        """Keep the server through a dropped connection, until it has stopped or nobody wants it any more."""
        heard_at = time.monotonic()
        while "started" in self._events and self._comeback is not None and not self._closing:
            with contextlib.suppress(HostFault, ValueError):
                self._comeback.touch()
                if self._stopping:
                    self._comeback.ask_stop()
                for event in self._comeback.events():
                    self._take(event)
                heard_at = time.monotonic()
            if "stopped" in self._events or time.monotonic() - heard_at > (self._limit_s or 0.0):
                break
            self._nudged.wait(1.0 if self._stopping else self._beat_s)
            self._nudged.clear()
        with self._news:
            self._given_up = True
            self._news.notify_all()
