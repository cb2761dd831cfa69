"""Ranks are told of a step as it was planned, and nobody waits for one that does not listen."""

from __future__ import annotations

from multiprocessing import Pipe

from simbox.model import Step
from simbox.step_feed import Feed, pack, receive, unpack

CYCLE = Step({"draft": 0.25, "verify": 19.0, "draft_extend": 0.29, "host": 0.14}, graph=True)


def record(number: int = 7) -> bytes:
    return pack(CYCLE, kind="verify", number=number, batch=16, began_ns=5_000_000_000)


def test_a_step_arrives_as_it_was_told() -> None:
    listening, telling = Pipe(duplex=False)
    Feed([telling]).tell([record()])
    step = unpack(receive(listening))
    assert (step.kind, step.number, step.batch, step.graph) == ("verify", 7, 16, True)
    assert step.began_ns == 5_000_000_000
    ends = {"draft": 250_000, "verify": 19_000_000, "draft_extend": 290_000, "host": 140_000}
    assert step.phases_ns == ends
    assert list(step.phases_ns) == list(ends)


def test_a_rank_that_does_not_read_loses_steps_and_holds_up_nobody() -> None:
    (deaf, first), (listening, second) = Pipe(duplex=False), Pipe(duplex=False)
    feed = Feed([first, second])
    for number in range(3000):
        feed.tell([record(number), record(number)])
        assert unpack(receive(listening)).number == number
    assert 0 < feed.lost < 3000
    assert unpack(receive(deaf)).number == 0


def test_a_rank_that_is_gone_holds_up_nobody() -> None:
    gone, telling = Pipe(duplex=False)
    gone.close()
    feed = Feed([telling])
    feed.tell([record()])
    assert feed.lost == 1
