"""A run folder may come from anywhere: what lies there in place of a file neither hangs, breaks nor fills anything."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.probe_lines import cycles, file
from tests.session.test_phase_table import NAME, START, folder, kept, read, with_probe
from tests.session.test_traces import FILE, TAKEN, verifies
from tokgate.cli.judged import judged
from tokgate.errors import UsageError
from tokgate.parsers import probe_file
from tokgate.records.phases import Phase
from tokgate.records.redactor import Redactor
from tokgate.session import probe_files, trace_table
from tokgate.session.run_folder import RunFolder

MS = 1_000_000
ODD: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_is_passed_over_and_the_rest_is_read(tmp_path: Path, odd: str) -> None:
    written = with_probe(tmp_path)
    launch = written.launch_folder(NAME)
    (launch / "probe/left.json").unlink()
    (launch / "profile").mkdir()
    names = ("probe/x.jsonl", "probe/left.json", "trace.json", f"profile/{FILE}", "server.log")
    for name in (*names, "metrics-single-before.prom", "metrics-single-after.prom"):
        ODD[odd](launch / name)
    table = read(written)
    assert table.find(Phase.VERIFY, "probe")[0].n == 80
    assert "x.jsonl cannot be read" in table.unknown["probe"]


@pytest.mark.parametrize("odd", ODD)
def test_a_clock_that_cannot_be_read_leaves_every_call_untold(tmp_path: Path, odd: str) -> None:
    written = with_probe(tmp_path)
    ODD[odd](written.launch_folder(NAME) / "probe/clock.json")
    table = read(written)
    assert not table.find(Phase.VERIFY, "probe")
    assert "clock.json cannot be read" in table.unknown["probe"]


@pytest.mark.parametrize("odd", ODD)
def test_verdicts_that_are_no_file_are_an_error(tmp_path: Path, odd: str) -> None:
    ODD[odd](tmp_path / "verdicts.json")
    if odd == "a link to nothing":
        assert judged(tmp_path) is None
        return
    with pytest.raises(UsageError, match="tokgate report"):
        judged(tmp_path)


@pytest.mark.parametrize(
    ("within_ms", "calls", "words"),
    [(20, 40, None), (100, 40, "at its ends"), (200, 0, "none is read"), (-(1 << 80), 0, "none is read")],
)
def test_a_clock_known_less_well_than_a_start_is_long_tells_no_call(
    tmp_path: Path, within_ms: int, calls: int, words: str | None
) -> None:
    written = folder(tmp_path)  # starts of 310 ms
    kept(written, "probe/phases-7.jsonl", file(*cycles(START + 10 * MS, 40)))
    kept(written, "probe/clock.json", json.dumps({"within_ns": within_ms * MS}).encode())
    table = read(written)
    assert sum(r.n for r in table.find(Phase.VERIFY, "probe")) == calls
    assert (words or "") in table.unknown.get("probe", "")
    assert words is not None or "probe" not in table.unknown


def test_a_header_and_a_process_that_tell_two_ranks_are_told(tmp_path: Path) -> None:
    written = folder(tmp_path, schedulers={11: "scheduler TP0", 12: "scheduler TP1"})
    for pid, rank in ((11, 1), (12, 0)):
        kept(written, f"probe/phases-{pid}.jsonl", file(*cycles(START + 10 * MS, 30), rank=rank, pid=pid))
    assert "pid 11 tells rank 1, its process is called rank 0" in read(written).unknown["probe"]


def test_files_and_calls_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = folder(tmp_path)
    for pid in range(5):
        kept(written, f"probe/phases-{pid}.jsonl", file(*cycles(START + 10 * MS, 10), rank=pid, pid=pid))
    monkeypatch.setattr(probe_files, "MOST_FILES", 3)
    assert "5 files, 3 of them read" in read(written).unknown["probe"]
    monkeypatch.setattr(probe_files, "MOST_CALLS", 60)  # of 40 a file
    table = read(written)
    assert [r.n for r in table.find(Phase.VERIFY, "probe")] == [10, 5]
    assert "5 files, 2 of them read" in table.unknown["probe"]
    monkeypatch.setattr(probe_files, "MOST_BYTES", 500)
    assert "5 files, 1 of them read" in read(written).unknown["probe"]


def test_lines_that_are_no_calls_end_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_file, "MAX_OTHERS", 50)
    taken = 0

    def pieces() -> object:
        nonlocal taken
        yield file().split(b"\n")[0] + b"\n"
        for _ in range(1000):
            taken += 1
            yield b"1\n\n" * 10

    found = probe_file.read_probe_file(pieces(), name="x")  # type: ignore[arg-type]
    assert taken < 5
    assert any("not read beyond line" in u.why for u in found.unread)


def test_traces_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = with_probe(tmp_path)
    kept(written, "trace.json", TAKEN)
    for rank in range(3):
        kept(written, f"profile/1-TP-{rank}.trace.json", verifies())
    monkeypatch.setattr(trace_table, "MOST_TRACES", 2)
    table = read(written)
    assert len(table.find(Phase.VERIFY, "trace")) == 2
    assert "3 traces, 2 of them read" in table.unknown["trace"]


def test_a_trace_that_unpacks_to_a_hundred_times_its_size_is_none(tmp_path: Path) -> None:
    written = with_probe(tmp_path)
    kept(written, "trace.json", TAKEN)
    event = b'{"cat": "kernel", "name": "k", "ts": 1, "dur": 1},' * 200_000
    kept(written, f"profile/{FILE}", gzip.compress(b'{"traceEvents": [' + event))
    assert "packed more than 100 times" in read(written).unknown["trace"]


def test_a_name_as_long_as_a_file_system_takes_can_be_written(tmp_path: Path) -> None:
    name = "a" * 249 + ".jsonl"
    RunFolder(tmp_path, Redactor()).write_body(name, b"x")
    assert (tmp_path / name).read_bytes() == b"x"
    assert [p.name for p in tmp_path.iterdir()] == [name]
