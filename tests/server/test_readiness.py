"""The waiting itself, with a clock that jumps: no process, no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tokgate.records import StartCause
from tokgate.server.events import Exit, State
from tokgate.server.readiness import GaveUp, Ready, Reply, wait_until_ready

REFUSED = Reply(answered=False, problem="GET /model_info: connection refused")
UP = Reply(answered=True)


@dataclass
class Server:
    """What happens when, in seconds of the clock that it also is."""

    log: Callable[[float], int | None] = lambda now: int(now * 100)
    dies_at: float = 1e9
    lost_at: float = 1e9
    up_at: float = 1e9
    answers: Callable[[float], Reply] = lambda now: Reply(answered=True, tokens=4)
    takes_s: float = 0.1  # of a generation
    now: float = 0.0
    asked: list[str] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds

    @property
    def exit(self) -> Exit | None:
        return Exit(1, None) if self.now >= self.dies_at else None

    def state(self, *, timeout_s: float) -> State | None:
        self.asked.append("state")
        return None if self.now >= self.lost_at else State(self.now < self.dies_at, self.log(self.now))

    def model_info(self) -> Reply:
        self.asked.append("model_info")
        return UP if self.now >= self.up_at else REFUSED

    def generate(self, *, timeout_s: float) -> Reply:
        self.asked.append("generate")
        self.now += min(self.takes_s, timeout_s)
        if self.takes_s > timeout_s:
            return Reply(answered=False, problem=f"POST /generate: no answer within {timeout_s:g} s")
        return self.answers(self.now)


def wait(
    server: Server,
    *,
    stranger: str | None = None,
    way: str | None = None,
    start_s: float = 100,
    silence_s: float = 30,
) -> Ready | GaveUp:
    return wait_until_ready(
        server,
        server,
        listener=lambda: stranger,
        way=lambda: way,
        start_timeout_s=start_s,
        silence_timeout_s=silence_s,
        clock=server,
    )


def test_ready_is_two_tokens_and_not_an_answer() -> None:
    counts = iter([0, 1, 4])
    server = Server(up_at=5, answers=lambda now: Reply(answered=True, tokens=next(counts)))
    assert isinstance(wait(server), Ready)
    assert server.asked.count("generate") == 3


def test_the_process_is_asked_for_first_at_every_poll() -> None:
    server = Server(up_at=3)
    wait(server)
    polls = " ".join(server.asked).split("state ")
    assert all(poll.strip() in {"", "model_info", "model_info generate"} for poll in polls)
    assert len(polls) > 5


def test_a_death_is_noticed_at_once_and_left_to_the_log_to_explain() -> None:
    server = Server(dies_at=4)
    assert wait(server) == GaveUp(None, "the process ended", Exit(1, None))
    assert server.now < 5


def test_a_supervisor_that_is_silent_is_no_dead_server() -> None:
    outcome = wait(Server(lost_at=4))
    assert isinstance(outcome, GaveUp)
    assert outcome.cause is StartCause.NO_SUPERVISOR


@pytest.mark.parametrize(
    ("log", "cause", "given_up_at"),
    [
        (lambda now: 0, StartCause.EMPTY_LOG, 30),
        (lambda now: None, StartCause.EMPTY_LOG, 30),
        (lambda now: min(int(now), 20), StartCause.SILENT, 50),
        (int, StartCause.NOT_READY, 100),
    ],
    ids=["nothing", "no file", "silent after 20 s", "writes on"],
)
def test_silence_and_chatter_are_told_apart(
    log: Callable[[float], int | None], cause: StartCause, given_up_at: float
) -> None:
    server = Server(log=log)
    outcome = wait(server)
    assert isinstance(outcome, GaveUp)
    assert outcome.cause is cause
    assert given_up_at <= server.now < given_up_at + 2


def test_there_is_one_deadline_however_long_a_generation_takes() -> None:
    server = Server(up_at=10, takes_s=1000)
    outcome = wait(server)
    assert isinstance(outcome, GaveUp)
    assert outcome.cause is StartCause.NOT_READY
    assert "no answer within" in outcome.detail
    assert server.now < 102


def test_a_server_that_refuses_to_generate_is_quoted() -> None:
    server = Server(
        up_at=1, answers=lambda now: Reply(answered=True, problem="POST /generate: HTTP 500: planted")
    )
    outcome = wait(server)
    assert isinstance(outcome, GaveUp)
    assert "HTTP 500: planted" in outcome.detail


def test_a_stranger_is_never_asked_to_generate() -> None:
    server = Server(up_at=1)
    outcome = wait(server, stranger="something answers on port 1, but not our process: python (pid 7)")
    assert isinstance(outcome, GaveUp)
    assert outcome.cause is StartCause.WRONG_SERVER
    assert "generate" not in server.asked


def test_a_broken_way_ends_the_wait() -> None:
    outcome = wait(Server(), way="the ssh tunnel ended with 255: Broken pipe")
    assert isinstance(outcome, GaveUp)
    assert "Broken pipe" in outcome.detail
