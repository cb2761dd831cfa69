from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.verdicts.baselines.test_history import entry
from tokgate.session.history_file import MOST_LINE, append, copied, history_path, read, stored


def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    path = history_path(tmp_path, "small")
    append(path, entry(1, 44.6))
    append(path, entry(2, 44.5))

    assert path == tmp_path / "history" / "small.jsonl"
    assert read(path).entries == (entry(1, 44.6), entry(2, 44.5))
    assert read(path).damaged == ()


def test_no_file_is_an_empty_history(tmp_path: Path) -> None:
    assert read(tmp_path / "none.jsonl") == ((), ())


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b"null",
        b"\xff\xfe",
        b'{"schema_number": 1}',
        entry(1, 44.6).model_dump_json().replace('"schema_number":1', '"schema_number":2').encode(),
        entry(1, 44.6).model_dump_json().replace("44.6", "-1").encode(),
        entry(1, 44.6).model_dump_json().replace("44.6", "1e999").encode(),
        b"[" * 5000,
        b'"' + b"x" * (MOST_LINE + 10) + b'"',
    ],
)
def test_a_damaged_line_is_named_and_skipped(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "h.jsonl"
    append(path, entry(1, 44.6))
    with path.open("ab") as file:
        file.write(line + b"\n")
    append(path, entry(2, 44.5))
    found = read(path)

    assert [one.run_id for one in found.entries] == ["r01", "r02"]
    assert len(found.damaged) == 1
    assert found.damaged[0].startswith(f"{path}, line 2: ")
    assert len(found.damaged[0]) < 1000


def test_half_a_line_of_a_killed_session_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    append(path, entry(1, 44.6))
    with path.open("ab") as file:
        file.write(b'{"schema_number":1,"run_')
    append(path, entry(2, 44.5))
    found = read(path)

    assert [one.run_id for one in found.entries] == ["r01", "r02"]
    assert len(found.damaged) == 1


def test_a_file_of_rubbish_names_the_first_lines_and_counts_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"rubbish\n" * 1000)

    assert len(read(path).damaged) == 21
    assert read(path).damaged[-1] == "and 980 more damaged lines"


def test_sessions_that_end_together_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    threads = [threading.Thread(target=append, args=(path, entry(n, 44.0 + n))) for n in range(1, 21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = read(path)
    assert sorted(one.run_id for one in found.entries) == [f"r{n:02}" for n in range(1, 21)]
    assert found.damaged == ()


def test_a_pipe_or_a_folder_is_an_error_and_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match=r"regular file|directory"):
            read(tmp_path / name)
    with pytest.raises(OSError, match="directory"):
        append(tmp_path / "folder", entry(1, 44.6))


def test_a_run_folder_keeps_the_history_of_its_day(tmp_path: Path) -> None:
    path, run = tmp_path / "h.jsonl", tmp_path / "run"
    append(path, entry(1, 44.6))
    before = copied(path, run)
    append(path, entry(2, 44.5))

    assert [one.run_id for one in before.entries] == ["r01"]
    assert copied(path, run) == before
    assert stored(run) == before
    assert [p.name for p in run.iterdir()] == ["history.jsonl"]


def test_without_a_history_that_can_be_read_a_run_is_judged_all_the_same(tmp_path: Path) -> None:
    assert copied(tmp_path / "none.jsonl", tmp_path / "run").entries == ()
    (tmp_path / "other").mkdir()
    os.mkfifo(tmp_path / "other" / "history.jsonl")
    found = stored(tmp_path / "other")
    assert found.entries == ()
    assert "no regular file" in found.damaged[0]
