from __future__ import annotations

import json
from typing import Any

import pytest

from tokgate.parsers import probe_file
from tokgate.parsers.probe_file import read_probe_file
from tokgate.parsers.probe_records import Call, ProbeFile
from tokgate.records.phases import Phase

HEADER: dict[str, Any] = {
    "probe": 1,
    "pid": 77,
    "rank": 3,
    "ranks": {"tp": 3},
    "mark": "run-1",
    "sglang": "0.5.23",
    "clock": "cuda-events",
    "hooked": ["verify a.Worker.verify", "draft a.Worker.draft"],
    "missing": ["b.Worker.verify"],
    "broken": {},
    "failed": None,
    "switch": True,
    "monotonic_ns": 1_000,
    "epoch_ns": 1_790_000_000_000_000_000,
}
CALLS = [["draft", 0.278, 1, None, 2000], ["verify", 5.359, 1, 1, 2300], ["verify", 5.4, 2, 0, 9000]]
END = {"end": True, "written": 5, "dropped": 0}


def content(*lines: object, header: dict[str, Any] | None = None) -> bytes:
    every = [{**HEADER, **(header or {})}, *lines]
    return ("\n".join(v if isinstance(v, str) else json.dumps(v) for v in every) + "\n").encode()


def read(data: bytes, mark: str | None = "run-1") -> ProbeFile:
    return read_probe_file([data], name="phases-77.jsonl", mark=mark)


def test_a_whole_file() -> None:
    found = read(content(*CALLS, END))
    assert found.calls == (
        Call(Phase.DRAFT, 0.278, 1, None, 2000),
        Call(Phase.VERIFY, 5.359, 1, graph=True, began_ns=2300),
        Call(Phase.VERIFY, 5.4, 2, graph=False, began_ns=9000),
    )
    assert (found.why, found.ended, found.torn, found.warnings, found.unread) == (None, True, False, (), ())
    assert found.header is not None
    assert (found.header.rank, found.clock, found.header.sglang) == (3, "gpu", "0.5.23")


@pytest.mark.parametrize("size", [1, 3, 50])
def test_how_it_is_cut_makes_no_difference(size: int) -> None:
    data = content(*CALLS, END)
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    assert read_probe_file(pieces, name="phases-77.jsonl", mark="run-1") == read(data)


def test_a_moment_of_the_day_is_found_on_the_clock_of_the_calls() -> None:
    header = read(content(END)).header
    assert header is not None
    assert header.monotonic(HEADER["epoch_ns"] + 500) == 1_500


def test_a_killed_process_leaves_half_a_line_and_no_end() -> None:
    found = read(content(*CALLS) + b'["verify", 5.3')
    assert len(found.calls) == 3
    assert (found.torn, found.ended) == (True, False)
    assert "torn" in found.unread[0].why
    assert "no end" in found.warnings[0]


def test_a_last_line_without_its_newline_counts() -> None:
    found = read(content(*CALLS, END)[:-1])
    assert (found.torn, found.ended, len(found.calls)) == (False, True, 3)


def test_what_the_probe_lost_is_told() -> None:
    found = read(
        content(
            CALLS[0], {"dropped": 3, "why": "queue full"}, {"dropped": 9, "why": "file at its limit"}, END
        )
    )
    assert found.dropped == 9
    assert "lost 9 records (file at its limit)" in found.warnings[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (content(*CALLS, header={"mark": "run-0"}), "of another run: it carries the mark run-0"),
        (content(*CALLS, header={"mark": None}), "of another run: it carries no mark"),
        (b"", "is empty"),
        (content(*CALLS)[40:], "has no header"),
        (content(*CALLS, header={"probe": 2}), "has no header"),
        (content(END), "has no call"),
        (content(header={"hooked": []}), "for verify in SGLang 0.5.23; it looked for b.Worker.verify"),
        (content(header={"hooked": [], "clock": None, "failed": "no torch"}), "hooked nothing: no torch"),
        (b"\xff\xfe\x00" * 1000, "has no header"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_tells_nothing_says_why(data: bytes, words: str) -> None:
    found = read(data)
    assert found.calls == ()
    assert words in (found.why or "")


def test_a_phase_that_no_hook_times_is_named_with_what_was_looked_for() -> None:
    header = read(content(END, header={"broken": {"c.Worker._extend": "no function"}})).header
    assert header is not None
    assert header.why_not(Phase.VERIFY) is None
    words = header.why_not(Phase.DRAFT_EXTEND) or ""
    assert words.startswith("the probe found nothing to hook for draft_extend in SGLang 0.5.23")
    assert "c.Worker._extend (no function), b.Worker.verify" in words


def test_where_nothing_was_hooked_the_names_looked_for_are_told_all_the_same() -> None:
    told = {
        "hooked": [],
        "broken": {},
        "missing": ["b.Worker.verify"],
        "failed": "this SGLang has none of the names",
    }
    words = read(content(END, header=told)).why or ""
    assert words.startswith("the probe hooked nothing: this SGLang has none of the names")
    assert words.endswith("it looked for b.Worker.verify")


def test_a_call_that_takes_no_time_is_none_and_is_told_by_phase() -> None:
    nothing = [["verify", ms, 1, 1, 3000 + n] for n, ms in enumerate((0.0, 0, 0.00009))]
    found = read(content(*CALLS, *nothing, END))
    assert len(found.calls) == 3
    assert [(u.text, u.why[:4]) for u in found.unread] == [("3 calls of verify", "0 ms")]
    assert found.why_not(Phase.VERIFY) is None
    only = read(content(CALLS[0], *nothing, END))
    assert "every call of verify that it has, 3 of them, took 0 ms" in (only.why_not(Phase.VERIFY) or "")
    assert only.why_not(Phase.DRAFT) is None
    assert "3 of them, took 0 ms" in (read(content(*nothing, END)).why or "")


HOSTILE = [
    '["verify", NaN, 1, 1, 5]',
    '["verify", 1e999, 1, 1, 5]',
    '["verify", -1, 1, 1, 5]',
    '["verify", 5.3, -1, 1, 5]',
    '["verify", 5.3, 1.5, 1, 5]',
    '["verify", 5.3, 1, 7, 5]',
    '["verify", 5.3, 1, 1, "now"]',
    '["verify", 5.3, 1, 1]',
    '["verify", true, 1, 1, 5]',
    '["rest", 5.3, 1, 1, 5]',
    '[["verify"], 5.3, 1, 1, 5]',
    '{"dropped": -3}',
    "[" * 100_000,
    "null",
    "\x00\x1b[31m",
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:20])
def test_a_hostile_line_is_listed_and_costs_no_other(line: str) -> None:
    found = read(content(CALLS[0], line, CALLS[1], END))
    assert len(found.calls) == 2
    assert [u.line for u in found.unread] == [3]


def test_an_endless_line_is_not_held() -> None:
    def pieces() -> Any:
        yield content(CALLS[0])
        for _ in range(300):
            yield b"x" * 65_536
        yield b"\n" + json.dumps(CALLS[1]).encode() + b"\n"

    found = read_probe_file(pieces(), name="p", mark="run-1")
    assert len(found.calls) == 2
    assert len(found.unread) == 1


def test_more_calls_than_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_file, "MAX_CALLS", 2)
    found = read(content(*CALLS, *CALLS, END))
    assert len(found.calls) == 2
    assert found.unread[-1].text == "4 calls"


def test_many_odd_lines_are_counted_and_not_all_kept() -> None:
    found = read(content(*(["nonsense"] * 500), CALLS[0]))
    assert len(found.unread) == probe_file.MAX_UNREAD + 1
    assert found.unread[-1].why == "and 480 more lines"
