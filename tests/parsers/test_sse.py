from __future__ import annotations

import random

import pytest

from tokgate.parsers import sse
from tokgate.parsers.sse import SseStream, split_events

STREAM = (
    b"\xef\xbb\xbf: hello\n\ndata: one\n\ndata:two\ndata: lines\nid: 4\n\nevent: sglext_ids\ndata: {}\n\n"
    b"retry: 5\n\ndata: \xc3\xa9\n\ndata: [DONE]\n\n"
)
DATA = ["one", "two\nlines", "{}", "é"]


def data_of(stream: SseStream) -> list[str]:
    return [event.data for event in stream.events]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_any_line_end_cut_anywhere(line_end: bytes, size: int) -> None:
    body = STREAM.replace(b"\n", line_end)
    pieces = [(i, body[i : i + size]) for i in range(0, len(body), size)]
    stream = split_events(pieces)
    assert data_of(stream) == DATA
    assert stream.done
    assert stream.rest.strip() == b""
    assert stream.unread == ()
    assert [event.name for event in stream.events] == ["", "", "sglext_ids", ""]


def test_an_event_arrives_with_the_piece_that_completes_it() -> None:
    stream = split_events(
        [(10, b"data: a\n\ndata: b\n"), (20, b"\n"), (30, b"data: c\n\nda"), (40, b"ta: [DONE]\n\n")]
    )
    assert [(event.arrival_ns, event.data) for event in stream.events] == [(10, "a"), (20, "b"), (30, "c")]
    assert stream.done_ns == 40


def test_an_event_without_its_blank_line_is_kept_as_the_rest() -> None:
    stream = split_events([(1, b"data: a\n\ndata: {"), (2, b'"text": "b"')])
    assert data_of(stream) == ["a"]
    assert not stream.done
    assert stream.rest == b'data: {"text": "b"'


def test_what_is_no_event_stream_is_said() -> None:
    stream = split_events([(1, b"<html>\n\ndata: [DONE]\n\ndata: late\n\ndata: \xff\n\n")])
    assert stream.events == ()
    assert [unread.why for unread in stream.unread] == [
        "not a field of an event stream",
        "after [DONE]",
        "not UTF-8: invalid start byte",
        "after [DONE]",
    ]


def test_nothing_at_all() -> None:
    assert split_events([]) == SseStream()
    assert split_events([(1, b"\n" * 100_000)]).events == ()


def test_endless_events_are_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "EVENT_LIMIT", 3)
    stream = split_events([(1, b"data: x\n\n" * 10)])
    assert len(stream.events) == 3
    assert stream.unread[-1].why == "more than 3 events: the remainder was not read"


def test_noise_never_raises() -> None:
    rng = random.Random(4)
    for _ in range(200):
        noise = bytes(rng.choice(b"data: \n\r\xff\x00{}[DONE]:") for _ in range(rng.randrange(300)))
        pieces = [(i, noise[i : i + 5]) for i in range(0, len(noise), 5)]
        stream = split_events(pieces)
        assert SseStream.model_validate(stream.model_dump()) == stream
        assert data_of(stream) == data_of(split_events([(0, noise)]))
