"""Steps of the truth file and of a rank's own are put together, and what a test did not ask for is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simbox.truth_phases import cycles, means
from simbox.truth_reader import Run, read


def step(number: int, *, batch: int = 1, done: int = 0, host: float = 0.14) -> dict[str, object]:
    return {
        "kind": "step", "n": number, "phases_ms": {"host": host}, "batch": batch, "graph": True, "sample_ms": 0.03,
        "accepted": {"a": 1}, "done_ns": done or 100 * number,
    }  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = tmp_path / "runs" / "0001-7"
    folder.mkdir(parents=True)
    lines = [
        {"kind": "start", "start": 1},
        step(1), {"kind": "request", "number": 0, "end_ns": 150},
        step(2), step(3), step(4, batch=2), step(5),
    ]  # fmt: skip
    (folder / "truth.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    spent = [
        {"kind": "rank", "rank": 0},
        [1, "verify", [9.0, 9.0, 9.0], [9.0, 9.0, 9.0], 9.0],
        [2, "verify", [0.25, 19.0, 0.3], [0.26, 19.1, 0.31], 0.1],
        [3, "verify", [0.35, 21.0, 0.5], [0.36, 21.3, 0.51], None],
        [4, "verify", [0.4, 30.0, 0.5], [0.4, 30.0, 0.5], 0.2],
        [5, "prefill", [35.0], [35.1], 0.3],
        [6, "verify", [0.4, 30.0, 0.5], [0.4, 30.0, 0.5], 0.2],
    ]
    (folder / "rank-0.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in spent) + '[7, "ver')
    (found,) = read(tmp_path)
    return found


def test_warm_up_torn_lines_and_steps_of_no_record_are_left_out(run: Run) -> None:
    assert [one.number for one in cycles(run)] == [2, 3, 4, 5]
    assert cycles(run, rank=1) == ()


def test_only_what_was_asked_for(run: Run) -> None:
    assert [one.number for one in cycles(run, kind="prefill")] == [5]
    assert [one.number for one in cycles(run, batch=2)] == [4]
    assert [one.number for one in cycles(run, between_ns=(300, 400))] == [3, 4]


def test_both_clocks(run: Run) -> None:
    found = means(cycles(run, kind="verify", batch=1))
    assert found["verify"].n == 2
    assert found["verify"].gpu_ms == 20.0
    assert found["verify"].host_ms == pytest.approx(20.2)
    assert (found["rest"].n, found["rest"].host_ms) == (1, 0.1)
    assert found["cycle"].gpu_ms == pytest.approx(0.25 + 19.0 + 0.3 + 0.14)
    assert found["cycle"].host_ms == pytest.approx(0.26 + 19.1 + 0.31 + 0.1)
