"""When is a server ready? When its process lives and has made tokens; never because a URL said so.

/health can say 200 through a hang, and SGLang 0.5.23 logs "fired up and ready to roll" even after its port was
refused. So: the process is asked for first at every poll, then who listens on the port, then a real generation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from tokgate.client.control import Control, Timeouts
from tokgate.client.prompts import PromptValue
from tokgate.errors import BenchFault, ServerLost
from tokgate.records import StartCause

from .events import Exit, State

POLL_S = 0.25
# A cheap endpoint of a living server answers in milliseconds; one that is busy loading may take longer.
CHEAP_S = 5.0
SUPERVISOR_S = 20.0
# Ids below that every vocabulary has: one id outside it ends a whole SGLang server.
PROMPT = PromptValue(ids=(1, 2, 3, 4))
ASKED_TOKENS = 4
FEWEST_TOKENS = 2  # the first comes from prefill alone


class Reply(NamedTuple):
    answered: bool  # by HTTP, whatever the status
    tokens: int | None = None
    problem: str | None = None


class Ready(NamedTuple):
    after_s: float


class GaveUp(NamedTuple):
    cause: StartCause | None  # None: the process ended, its log has to tell
    detail: str
    exit: Exit | None = None


class Watched(Protocol):
    """The supervisor, as far as waiting needs it."""

    @property
    def exit(self) -> Exit | None: ...
    def state(self, *, timeout_s: float) -> State | None: ...


class Probe(Protocol):
    def model_info(self) -> Reply: ...
    def generate(self, *, timeout_s: float) -> Reply: ...


class Clock(Protocol):
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


class HttpProbe:
    """The two questions over HTTP; never raises for what a server does."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        self._control = Control(base_url, api_key, Timeouts(connect=CHEAP_S, call=CHEAP_S))

    def close(self) -> None:
        self._control.close()

    def model_info(self) -> Reply:
        """Ask /model_info rather than /health, which sleeps a second."""

        def nothing() -> None:
            self._control.get_json("/model_info")

        return _reply(nothing)

    def generate(self, *, timeout_s: float) -> Reply:
        def tokens() -> int | None:
            answer = self._control.generate_once(PROMPT, tokens=ASKED_TOKENS, timeout_s=timeout_s)
            return answer.counters.completion_tokens

        return _reply(tokens)


def wait_until_ready(
    watched: Watched,
    probe: Probe,
    *,
    listener: Callable[[], str | None],
    way: Callable[[], str | None],
    start_timeout_s: float,
    silence_timeout_s: float,
    clock: Clock = time,
) -> Ready | GaveUp:
    """Wait for two generated tokens, or give up with a reason, by one deadline.

    `listener` names the process that has the port if it is not ours, `way` says why the port cannot be
    reached any more (a tunnel that ended); both return None when all is well.
    """
    started = grew_at = clock.monotonic()
    log_bytes: int | None = 0
    told = "it never answered"
    ours = False
    while True:
        state = watched.state(timeout_s=SUPERVISOR_S)
        now = clock.monotonic()
        if state is None and watched.exit is None:
            return GaveUp(StartCause.NO_SUPERVISOR, "the supervisor does not answer any more")
        if state is None or not state.alive:
            return GaveUp(None, "the process ended", watched.exit)
        if state.log_bytes != log_bytes:
            log_bytes, grew_at = state.log_bytes, now
        if (broken := way()) is not None:
            return GaveUp(StartCause.NOT_READY, broken)
        gave_up = _time_is_up(
            waited_s=now - started,
            silent_s=now - grew_at,
            log_bytes=log_bytes,
            told=told,
            start_timeout_s=start_timeout_s,
            silence_timeout_s=silence_timeout_s,
        )
        if gave_up is not None:
            return gave_up
        answer = probe.model_info()
        told = answer.problem or told
        if answer.answered:
            if not ours and (stranger := listener()) is not None:
                if watched.exit is not None:  # it answered and ended in between
                    return GaveUp(None, "the process ended", watched.exit)
                return GaveUp(StartCause.WRONG_SERVER, stranger)
            ours = True
            # It may compile kernels first, so it gets all the time there is.
            patience = min(start_timeout_s - (now - started), silence_timeout_s - (now - grew_at))
            answer = probe.generate(timeout_s=patience + POLL_S)
            if (answer.tokens or 0) >= FEWEST_TOKENS:
                return Ready(clock.monotonic() - started)
            told = answer.problem or f"a generation gave {answer.tokens} tokens of {ASKED_TOKENS}"
        clock.sleep(POLL_S)


def _time_is_up(
    *,
    waited_s: float,
    silent_s: float,
    log_bytes: int | None,
    told: str,
    start_timeout_s: float,
    silence_timeout_s: float,
) -> GaveUp | None:
    wrote_nothing = not log_bytes
    if silent_s >= silence_timeout_s or (wrote_nothing and waited_s >= start_timeout_s):
        if wrote_nothing:
            return GaveUp(StartCause.EMPTY_LOG, f"it runs, but has written nothing for {waited_s:.0f} s")
        return GaveUp(StartCause.SILENT, f"nothing new in the log for {silent_s:.0f} s; last: {told}")
    if waited_s >= start_timeout_s:
        return GaveUp(StartCause.NOT_READY, f"no generation within {waited_s:.0f} s; last: {told}")
    return None


def _reply(ask: Callable[[], int | None]) -> Reply:
    try:
        return Reply(answered=True, tokens=ask())
    except ServerLost as fault:
        return Reply(answered=False, problem=f"{fault.tried}: {fault.found}")
    except BenchFault as fault:
        return Reply(answered=True, problem=f"{fault.tried}: {fault.found}")
