from __future__ import annotations

from typing import Any

import pytest

from tokgate.parsers.batch_lines import read_batch_lines
from tokgate.parsers.graph_truth import captured, graph_by_log
from tokgate.parsers.startup import read_startup
from tokgate.records.phases import GraphTruth

LINE = (
    "[2026-01-01 00:00:0{second}] Decode batch, #running-req: {running}, #token: 42, token usage: 0.00, accept len: 2.00, "
    "accept rate: 0.50, {graph}gen throughput (token/s): 300.0, #queue-req: 0"
)
CAPTURE = (
    "[2026-01-01 00:00:01] Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=3, bs=[1, 2, 4, 8], avail mem=9.5 GB\n"
    "[2026-01-01 00:00:02] Capture target verify CUDA graph end. elapsed=1.45 s, mem usage=-0.28 GB, avail mem=9.8 GB.\n"
    "[2026-01-01 00:00:02] Capture draft decode CUDA graph begin. backend=full, num_tokens_per_req=1, bs=[1, 2], avail mem=9.8 GB\n"
    "[2026-01-01 00:00:03] Capture draft decode CUDA graph end. elapsed=0.76 s, mem usage=0.05 GB, avail mem=9.7 GB.\n"
)


def log(*lines: tuple[int, str]) -> Any:
    texts = [LINE.format(second=n, running=r, graph=g) for n, (r, g) in enumerate(lines)]
    return read_batch_lines("\n".join(texts) + "\n").decode


def test_lines_are_counted_at_the_load_that_is_asked_for() -> None:
    on, off = "cuda graph: True, ", "cuda graph: False, "
    lines = log((1, on), (1, on), (16, off), (1, off))
    assert graph_by_log(lines, concurrency=1).share == pytest.approx(2 / 3)
    assert graph_by_log(lines, concurrency=16).share == 0.0
    assert (graph_by_log(lines).share, graph_by_log(lines).n) == (0.5, 4)


def test_silence_is_not_false() -> None:
    silent = graph_by_log(log((1, ""), (1, "")))
    assert (silent.share, silent.n, silent.why) == (
        None,
        0,
        "2 decode lines, and none says whether a graph was used",
    )
    assert graph_by_log((), concurrency=4).why == "no decode line with 4 running"


def truth(text: str, info: dict[str, Any], *, speculative: bool = True) -> GraphTruth:
    sizes, padded, by, why = captured(read_startup(text), info, speculative=speculative)
    return GraphTruth(sizes=sizes, padded=padded, captured_by=by, why_not_told=why)


def test_the_verify_graphs_count_and_not_the_drafts() -> None:
    found = truth(CAPTURE, {})
    assert (found.sizes, found.captured_by) == ((1, 2, 4, 8), "target verify graphs, by the log of the start")
    assert (found.largest, found.covers(8), found.covers(9), found.covers(3)) == (8, True, False, True)


def test_without_padding_only_the_captured_sizes_have_a_graph() -> None:
    found = truth(CAPTURE, {"disable_cuda_graph_padding": True})
    assert (found.covers(4), found.covers(3)) == (True, False)


def test_a_capture_that_broke_off_is_not_told() -> None:
    found = truth(CAPTURE.splitlines()[0] + "\n", {"cuda_graph_max_bs": 8})
    assert found.sizes is None
    assert "broke off" in (found.why_not_told or "")
    assert found.covers(1) is None


@pytest.mark.parametrize(
    ("info", "largest"),
    [
        ({"cuda_graph_max_bs": 160}, 160),
        ({"cuda_graph_bs": [1, 2, 24], "cuda_graph_max_bs": 160}, 24),
        ({"cuda_graph_config": {"decode": {"backend": "full", "max_bs": 16, "bs": [1, 16]}}}, 16),
        ({"cuda_graph_config": {"decode": {"backend": "disabled", "max_bs": 16}}}, 0),
        ({"disable_cuda_graph": True, "cuda_graph_max_bs": 160}, 0),
        ({"cuda_graph_max_bs": "many", "cuda_graph_bs": ["1"], "cuda_graph_config": [3]}, None),
        ({}, None),
    ],
)
def test_the_arguments_say_it_where_the_log_does_not(info: dict[str, Any], largest: int | None) -> None:
    found = truth("", info)
    assert found.largest == largest
    assert (found.why_not_told is None) == (largest is not None)


def test_a_plain_server_has_one_kind_of_graph() -> None:
    text = (
        "[2026-01-01 00:00:01] Capture cuda graph begin. This can take up to several minutes. avail mem=9.5 GB\n"
        "[2026-01-01 00:00:01] Capture cuda graph bs [1, 2, 4]\n"
        "[2026-01-01 00:00:02] Capture cuda graph end. Time elapsed: 1.45 s. avail mem=9.8 GB.\n"
    )
    assert truth(text, {}, speculative=False).largest == 4
