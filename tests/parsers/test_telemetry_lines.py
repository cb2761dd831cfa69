from __future__ import annotations

import json
from typing import Any

import pytest

from tests.parsers.mutations import mutated
from tokgate.parsers.telemetry_lines import GPU_FIELDS, Line, read_line, reasons_of
from tokgate.records.telemetry import GpuRow, HolderRow, HostRow, ProcessRow

FIELDS = {name: spellings[0] for name, spellings in GPU_FIELDS.items()}
INDEX_OF = {"GPU-a": 0, "GPU-b": 3}


def read(told: Any, *, at_ns: int = 7) -> Line:
    raw = told if isinstance(told, bytes) else json.dumps(told).encode()
    return read_line(raw, at_ns, fields=FIELDS, index_of=INDEX_OF)


def gpus(*rows: str) -> Line:
    return read({"k": "gpus", "n": 4, "h": 1.5, "rows": list(rows)})


def holders(*rows: str, **starts: int) -> Line:
    return read({"k": "holders", "n": 1, "h": 1.0, "rows": list(rows), "starts": starts})


def test_an_answer_about_the_gpus() -> None:
    line = gpus(
        "0, 1980, 3201, 52, 627.40, 100, 0x0000000000000000",
        "1, 1410, 3201, 92, 330.10, 99, 0x0000000000000060",
    )
    assert isinstance(line.row, GpuRow)
    assert (line.row.at_ns, line.row.seq, line.row.host_s) == (7, 4, 1.5)
    assert [tuple(g) for g in line.row.gpus] == [
        (0, 1980, 3201, 52, 627.4, 100, 0),
        (1, 1410, 3201, 92, 330.1, 99, 0x60),
    ]
    assert (line.missing, line.unread) == ({}, ())


@pytest.mark.parametrize(
    "words",
    ["[N/A]", "N/A", "[Not Supported]", "Not Supported", "[Insufficient Permissions]", "", "[Unknown Error]"],
)
def test_no_number_has_many_spellings_and_none_is_zero(words: str) -> None:
    line = gpus(f"0, {words}, 3201, 52, {words}, 100, {words}")
    assert isinstance(line.row, GpuRow)
    (gpu,) = line.row.gpus
    assert (gpu.sm_mhz, gpu.watts, gpu.reasons, gpu.celsius) == (None, None, None, 52)
    assert set(line.missing) == {"sm_mhz", "watts", "reasons"}
    assert all(line.missing.values())


def test_a_number_below_zero_is_none_but_for_a_cold_card() -> None:
    line = gpus("0, -1980, -1, -4, -0.1, -100, 0x0")
    assert isinstance(line.row, GpuRow)
    assert tuple(line.row.gpus[0]) == (0, None, None, -4, None, None, 0)
    assert line.missing["sm_mhz"] == "below zero: -1980"
    assert gpus("-1, 1980, 3201, 52, 627.40, 100, 0x0").row is None


def test_a_row_that_makes_no_sense_is_kept_and_the_others_count() -> None:
    line = gpus("0, 1980, 3201, 52, 627.40, 100, 0x0", "GPU 0000:11:00.0: GPU is lost")
    assert isinstance(line.row, GpuRow)
    assert len(line.row.gpus) == 1
    assert line.unread[0].text == "GPU 0000:11:00.0: GPU is lost"


def test_who_computes() -> None:
    line = holders("GPU-b, 4711, 4096, python3, or so", "GPU-x, 9, [N/A], [Not Found]", **{"4711": 99})
    assert isinstance(line.row, HolderRow)
    assert [tuple(h) for h in line.row.holders] == [
        (3, 4711, 99, 4096, "python3, or so"),
        (None, 9, None, None, None),
    ]


def test_an_answer_that_cannot_be_read_is_not_nobody() -> None:
    assert holders("No running processes found").row is None
    assert holders("GPU-a, [N/A], 4096, python3").row is None


def test_who_a_process_is_and_the_hosts_load() -> None:
    who = {"pid": 9, "start_ticks": 3, "user": "ann", "command": "a\nb", "ours": False}
    assert read({"k": "process", "n": 1, "h": 1.0, **who}).row == ProcessRow(at_ns=7, **who)
    load = {"load1": 0.5, "busy": 10, "steal": 0, "total": 30}
    assert read({"k": "host", "n": 2, "h": 1.0, **load}).row == HostRow(at_ns=7, seq=2, host_s=1.0, **load)


def test_the_last_words() -> None:
    assert read({"k": "ended", "what": "nvidia-smi (gpus) ended with 15"}).ended == (
        "nvidia-smi (gpus) ended with 15"
    )
    assert read({"k": "problem", "what": "it floods"}).problem == "it floods"
    assert read({"k": "end", "cpu_s": 0.25}).cpu_s == 0.25


@pytest.mark.parametrize(
    "raw",
    [
        b"Welcome to gpu7\n",
        b"",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"null",
        b'"k"',
        b'{"k": "gpus"}',
        b'{"k": "gpus", "n": 1, "h": 1, "rows": 3}',
        b'{"k": "holders", "n": 1, "h": 1, "rows": ["GPU-a, 4711, 4096, x"], "starts": []}',
        b'{"k": "host", "n": [], "h": {}, "load1": "high", "busy": 0, "steal": 0, "total": 0}',
        b'{"k": "process", "n": 1, "h": 1, "pid": 1, "start_ticks": 2, "user": "\\ud800", "command": "", "ours": true}',
        b'{"k": "end", "cpu_s": "much"}',
        b'{"k": "later", "n": 1}',
        b'{"k": "gpus", "n": 1, "h": 1, "rows": ["0, 1980',
        b"[" * 5000,
    ],
)
def test_whatever_else_comes_is_kept_as_unread(raw: bytes) -> None:
    line = read(raw)
    assert line.row is None
    assert line.unread[0].why
    assert len(line.unread[0].text) <= 500


@pytest.mark.parametrize(
    "told",
    [
        {"k": "gpus", "n": 4, "h": 1.5, "rows": ["0, 1980, 3201, 52, 627.40, 100, 0x0000000000000020"] * 2},
        {"k": "holders", "n": 1, "h": 1.0, "rows": ["GPU-b, 4711, 4096, python3"], "starts": {"4711": 99}},
        {
            "k": "process",
            "n": 1,
            "h": 1.0,
            "pid": 9,
            "start_ticks": 3,
            "user": "a",
            "command": "b",
            "ours": True,
        },
        {"k": "host", "n": 2, "h": 1.0, "load1": 0.5, "busy": 10, "steal": 0, "total": 30},
    ],
    ids=lambda told: str(told["k"]),
)
def test_whatever_happens_to_a_line_it_is_a_row_that_can_be_kept_or_unread(told: dict[str, Any]) -> None:
    for text in mutated(json.dumps(told).encode(), seed=11, count=200):
        line = read(text.encode("utf-8", "surrogateescape"))
        if line.row is None:
            assert line.unread or line.cpu_s is not None or line.ended is not None
            continue
        kept = line.row.model_dump_json(exclude_none=True)
        assert type(line.row).model_validate_json(kept).model_dump_json(exclude_none=True) == kept


@pytest.mark.parametrize(
    ("text", "mask"), [("0x0000000000000024", 0x24), ("0x0", 0), ("0xZZ", None), ("Active", None), ("", None)]
)
def test_masks(text: str, mask: int | None) -> None:
    assert reasons_of(text) == mask
