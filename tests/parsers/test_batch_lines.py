"""Pairs under data/batch_lines: a log, and what a careful reader takes from it.

The logs are made up, in the forms that SGLang versions since 0.3.6 really print.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokgate.parsers.batch_lines import BatchLines, DecodeReading, read_batch_lines

DATA = Path(__file__).parent / "data" / "batch_lines"
CASES = sorted(path.stem for path in DATA.glob("*.log"))


def told(lines: BatchLines) -> dict[str, Any]:
    """Return what the expected files hold: one row a line, defaults left out."""
    return {
        "decode": [reading.model_dump(exclude_defaults=True) for reading in lines.decode],
        "prefill": [reading.model_dump(exclude_defaults=True) for reading in lines.prefill],
        "other_lines": lines.other_lines,
        "unread": [[unread.line, unread.why] for unread in lines.unread],
    }


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    text = (DATA / f"{case}.log").read_bytes().decode()
    expected = json.loads((DATA / f"{case}.json").read_text())
    assert told(read_batch_lines(text)) == expected


def test_there_are_pairs() -> None:
    assert len(CASES) >= 15


def decode(case: str) -> tuple[DecodeReading, ...]:
    return read_batch_lines((DATA / f"{case}.log").read_bytes().decode()).decode


def test_first_line_after_a_prefill_is_marked_false() -> None:
    idle = {r.gen_throughput: r.spans_idle_why for r in decode("0.5.3_eagle3_old_rate")}
    assert idle == {0.52: "first after a prefill line", 141.02: None, 160.75: None, 128.33: None}


def test_a_pause_is_told_from_a_slow_server() -> None:
    assert [r.spans_idle for r in decode("pause_without_prefill")] == [False, False, True, False]
    assert not any(r.spans_idle for r in decode("slowness_that_lasts"))


def test_an_unknown_graph_is_not_false() -> None:
    assert {r.graph for r in decode("0.3.6_plain")} == {None}
    assert {r.graph for r in decode("0.5.23_cpu_iterations_occupancy")} == {False}


def test_speculation_that_is_off_has_no_accept_length() -> None:
    assert {r.accept_len for r in decode("0.3.6_plain")} == {None}
    assert {r.accept_len for r in decode("0.5.5_custom_logger_ineffective")} == {1.0}


def test_a_full_pool_is_flagged() -> None:
    assert {r.kv_pressure for r in decode("0.5.12_pool_full")} == {True}
    assert {r.kv_pressure for r in decode("0.5.6_compose_colour_progress")} == {False}


def test_what_a_prompt_says_is_no_reading() -> None:
    assert 9999.0 not in {r.gen_throughput for r in decode("hostile")}


def test_an_unreadable_prefill_still_spoils_the_next_line() -> None:
    text = (
        "[2026-01-01 00:00:01 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 50.00, #queue-req: 0\n"
        "01 TP0] Prefill batch, #new-seq: x\n"
        "[2026-01-01 00:00:02 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 20.00, #queue-req: 0\n"
        "[2026-01-01 00:00:03 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 50.00, #queue-req: 0\n"
    )
    lines = read_batch_lines(text)
    assert [r.spans_idle for r in lines.decode] == [False, True, False]
    assert [unread.line for unread in lines.unread] == [2]


def test_ranks_do_not_spoil_each_other() -> None:
    text = (
        "[2026-01-01 00:00:01 DP0 TP0] Prefill batch, #new-seq: 1, #queue-req: 0\n"
        "[2026-01-01 00:00:01 DP1 TP1] Decode batch, #running-req: 1, gen throughput (token/s): 50.00, #queue-req: 0\n"
        "[2026-01-01 00:00:01 DP0 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 20.00, #queue-req: 0\n"
    )
    assert [(r.rank, r.spans_idle) for r in read_batch_lines(text).decode] == [
        ("DP1 TP1", False),
        ("DP0 TP0", True),
    ]


def test_a_flood_of_bad_lines_is_counted_not_kept() -> None:
    lines = read_batch_lines("[2026-01-01 00:00:01 TP0] Decode batch, #running-req: 1\n" * 1000)
    assert len(lines.unread) == 201
    assert lines.unread[-1].why == "and 800 more lines of such kinds"
