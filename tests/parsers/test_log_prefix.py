"""data/log_prefix: one line a row as a JSON string (they hold escapes), and what is left of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokgate.parsers.log_prefix import MAX_LINE, PrefixedLine, log_lines, strip_prefixes

DATA = Path(__file__).parent / "data" / "log_prefix"
LINES = [json.loads(row) for row in (DATA / "lines.txt").read_text().splitlines()]
EXPECTED = json.loads((DATA / "lines.json").read_text())


def told(line: PrefixedLine) -> dict[str, Any]:
    return line.model_dump(exclude_defaults=True)


def test_every_line_has_its_answer() -> None:
    assert [row["line"] for row in EXPECTED] == LINES


@pytest.mark.parametrize("row", EXPECTED, ids=[repr(row["line"])[:40] for row in EXPECTED])
def test_pair(row: dict[str, Any]) -> None:
    assert told(strip_prefixes(row["line"])) == row["left"]


def test_prefixes_nest_in_any_order() -> None:
    bare = "[2026-08-24 15:56:11 TP0] x"
    outer = "Aug 24 15:56:11 box docker[8]: "
    inner = "sglang-1  | 2026-08-24T15:56:11.1Z "
    line = strip_prefixes(outer + inner + bare)
    assert (line.text, line.rank, line.source) == ("x", "TP0", "sglang-1")


def test_lines_keep_their_numbers_through_progress_bars() -> None:
    text = (
        "one\n"
        "  0%| 0/2 [00:00<?, ?it/s]\r 50%| 1/2 [00:00<00:00,  2.28s/it][2026-01-01 00:00:00 TP0] behind a bar\r\n"
        "\n"
        "   indented\n"
        "last without an end"
    )
    assert [(number, line.text, line.rank) for number, line in log_lines(text)] == [
        (1, "one", None),
        (2, "  0%| 0/2 [00:00<?, ?it/s]", None),
        (2, " 50%| 1/2 [00:00<00:00,  2.28s/it]", None),
        (2, "behind a bar", "TP0"),
        (4, "   indented", None),
        (5, "last without an end", None),
    ]


def test_only_a_newline_ends_a_line() -> None:
    assert [number for number, _ in log_lines("a\u2028b\x0cc\x85d\nsecond")] == [1, 2]


def test_an_endless_line_is_cut_off() -> None:
    ((_, line),) = log_lines("x" * (10 * MAX_LINE))
    assert len(line.text) == MAX_LINE


def test_nothing() -> None:
    assert list(log_lines("")) == []
    assert list(log_lines("\n\n \n")) == []
