"""Pairs under data/generation_stream: a stream of our own making, and what is read from it.

Event number i arrives at i nanoseconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.parsers.mutations import mutated
from tokgate.parsers.generation_stream import (
    StreamReading,
    read_chat_stream,
    read_completions_stream,
    read_generate_stream,
)
from tokgate.parsers.sse import SseStream, split_events

DATA = Path(__file__).parent / "data" / "generation_stream"
CASES = sorted(path.stem for path in DATA.glob("*.sse"))
READERS = {
    "generate": read_generate_stream,
    "completions": read_completions_stream,
    "chat": read_chat_stream,
}


def stream_of(text: str) -> SseStream:
    blocks = text.split("\n\n")
    pieces = [(i, f"{block}\n\n".encode()) for i, block in enumerate(blocks[:-1])]
    return split_events([*pieces, (len(blocks), blocks[-1].encode())])


def told(reading: StreamReading) -> dict[str, Any]:
    said = reading.model_dump(mode="json", exclude_defaults=True)
    return said | {"unread": [[unread.text, unread.why] for unread in reading.unread]}


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    reading = READERS[case.split("_", maxsplit=1)[0]](stream_of((DATA / f"{case}.sse").read_text()))
    assert told(reading) == json.loads((DATA / f"{case}.expected.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_damaged_streams_never_raise(case: str) -> None:
    for text in mutated((DATA / f"{case}.sse").read_bytes(), seed=7, count=20):
        for read in READERS.values():
            reading = read(stream_of(text))
            assert list(reading.chunk_ns) == sorted(reading.chunk_ns)
            assert reading.chunk_tokens is None or len(reading.chunk_tokens) == len(reading.chunk_ns)
            assert StreamReading.model_validate_json(reading.model_dump_json()) == reading


def test_an_empty_stream_says_nothing_and_is_not_complete() -> None:
    for read in READERS.values():
        reading = read(SseStream())
        assert not reading.complete
        assert reading.chunk_ns == ()
        assert reading.counters is None


def test_done_without_a_finish_reason_is_not_complete() -> None:
    reading = read_generate_stream(split_events([(1, b"data: [DONE]\n\n")]))
    assert not reading.complete
