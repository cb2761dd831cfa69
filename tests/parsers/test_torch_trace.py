from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.parsers.traces import ALL_REDUCE, MATMUL, decode, event, kernel, step, trace
from tokgate.parsers import trace_source
from tokgate.parsers.torch_trace import TraceReading, read_torch_trace


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    return (content[at : at + size] for at in range(0, len(content), size))


def test_kernels_are_counted_timed_and_placed() -> None:
    reading = read_torch_trace([trace(decode(steps=3, each=2))])
    reduce = next(k for k in reading.kernels if k.name == ALL_REDUCE)
    assert (reduce.calls, reduce.in_steps, reduce.total_us, reduce.streams) == (7, 6, 35.0, (7,))
    assert (reading.rank, reading.steps, reading.complete, reading.unread) == (3, 3, True, ())


@pytest.mark.parametrize("kind", ["TARGET_VERIFY", "VERIFY"], ids=["0.5.16", "0.5.23"])
def test_a_verify_of_drafts_is_a_step_that_decodes_and_a_prefill_is_none(kind: str) -> None:
    events = [
        step(0.0, kind=kind),
        kernel("a", 1.0),
        step(500.0, kind="EXTEND"),
        kernel("a", 501.0),
    ]
    (use,) = read_torch_trace([trace(events)]).kernels
    assert (use.calls, use.in_steps) == (2, 1)


def test_a_trace_without_marks_says_that_it_has_none() -> None:
    reading = read_torch_trace([trace([kernel(MATMUL, 1.0)])])
    assert reading.steps is None
    assert reading.kernels[0].in_steps == 0


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
@pytest.mark.parametrize("packed", [True, False])
def test_how_it_is_cut_makes_no_difference(size: int, *, packed: bool) -> None:
    content = trace(decode(), packed=packed)
    assert read_torch_trace(pieces(content, size)) == read_torch_trace([content])


def test_the_rank_may_stand_behind_the_events() -> None:
    text = json.dumps({"traceEvents": decode(), "distributedInfo": {"backend": "nccl", "rank": 5}})
    assert read_torch_trace([text.encode()]).rank == 5


def test_half_a_trace_is_not_whole_and_what_came_is_kept() -> None:
    whole = trace(decode(steps=20), packed=False)
    reading = read_torch_trace([whole[: len(whole) // 2]])
    assert not reading.complete
    assert "torn" in reading.unread[0].why
    assert 0 < sum(k.calls for k in reading.kernels) < 61


def test_half_a_gzip_is_not_whole() -> None:
    whole = trace(decode(steps=200))
    assert not read_torch_trace([whole[: len(whole) // 2]]).complete


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1f\x8bnot gzip at all",
        b"[]",
        b"\xff\xfe\x00",
        b'{"traceEvents": {}}',
        b'{"traceEvents": [',
        b'{"traceEvents": [}',
        b'{"traceEvents": [' + b"[" * 100_000,
    ],
)
def test_what_is_no_trace_is_told_and_never_raises(content: bytes) -> None:
    reading = read_torch_trace([content])
    assert (reading.kernels, reading.complete) == ((), False)
    assert reading.unread


def test_odd_events_are_passed_over() -> None:
    odd = [
        *({"cat": "kernel"}, {"cat": "kernel", "name": 7, "ts": 1, "dur": 1}),
        event("negative", "kernel", 1.0, -3.0),
        event("endless", "kernel", 1.0, 1e308),
        {"cat": "kernel", "name": "no number", "ts": "soon", "dur": 1},
        {"cat": "kernel", "name": "odd args", "ts": 1, "dur": 1, "args": [1]},
    ]
    reading = read_torch_trace([json.dumps({"traceEvents": [*odd, 3, None]}).encode()])
    assert [k.name for k in reading.kernels] == ["odd args"]
    assert [u.text for u in reading.unread] == ["3", "null"]


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_source, "LIMIT_BYTES", 3 << 20)
    bomb = gzip.compress(b'{"traceEvents": [' + b" " * (64 << 20) + b"]}")
    reading = read_torch_trace([bomb])
    assert "more than 3 MiB" in reading.unread[-1].why
    assert not reading.complete


def test_a_long_trace_is_never_held_as_a_whole() -> None:
    """40 000 events of 1 kB, 40 MB of text; what is kept of each is its time and which kernel it is."""
    one = json.dumps(kernel(MATMUL + "x" * 900, 1.0)).encode()

    def long() -> Iterator[bytes]:
        yield b'{"traceEvents": ['
        for _ in range(400):
            yield (one + b",") * 100
        yield one + b"]}"

    tracemalloc.start()
    reading: TraceReading = read_torch_trace(long())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (reading.events, reading.kernels[0].calls, reading.complete) == (40_001, 40_001, True)
    assert peak < 12 << 20
