"""What was written is read back, and a late box says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simbox.truth_reader import main, read

START = {"kind": "start", "start": 1, "scenarios": ["heat"]}
WARM_UP: dict[str, Any] = {"kind": "request", "number": 0, "decode_tok_s": 1.0}
SERVED = {"kind": "request", "number": 1, "decode_tok_s": 88.8}
ON_TIME = {"kind": "lateness", "steps": 9, "beyond_limit": 0, "limit_ms": 50.0, "max_ms": 1.2}
LATE = ON_TIME | {"beyond_limit": 2, "max_ms": 71.26}


def written(state: Path, *lines: object, name: str = "0001-7") -> None:
    folder = state / "runs" / name
    folder.mkdir(parents=True)
    (folder / "truth.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"kind": "st')


def test_the_last_lateness_counts(tmp_path: Path) -> None:
    written(tmp_path, START, WARM_UP, ON_TIME, SERVED, LATE)
    (run,) = read(tmp_path)
    assert run.requests == (SERVED,)
    assert run.late == "2 of 9 steps were later than 50 ms, one by 71.3 ms"


def test_a_run_that_was_on_time_and_one_that_never_began(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, START, SERVED, ON_TIME)
    written(tmp_path, name="0002-8")
    assert [run.late for run in read(tmp_path)] == [None]
    monkeypatch.setattr("sys.argv", ["truth_reader", str(tmp_path)])
    main()
    assert capsys.readouterr().out == "start 1: 1 requests, 88.80 tok/s, scenarios heat, on time\n"


def test_an_empty_folder_has_no_runs(tmp_path: Path) -> None:
    assert read(tmp_path) == ()
