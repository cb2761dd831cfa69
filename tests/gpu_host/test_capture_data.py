"""Test data are small and nobody's: what visits brought home, without the machine it came from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from capture_data import KEPT_STEPS, cleaner, make, trimmed

from tokgate.parsers.torch_trace import read_torch_trace

CARD = "GPU-1f5e8a3c-7d2b-4c90-a1b2-0123456789ab"


def visit(folder: Path, **more: str) -> Path:
    folder.mkdir()
    told = {
        "rig": "h200",
        "sglang": "0.5.16",
        "arm": "baseline",
        "root": "/tmp/there",
        "hosts": ["box-17"],
        **more,
    }
    (folder / "visit.json").write_text(json.dumps(told))
    return folder


def test_whose_machine_it_was_is_taken_out_of_every_text(tmp_path: Path) -> None:
    run = visit(tmp_path / "run")
    (run / "smi").mkdir()
    (run / "smi" / "ready-gpus.txt").write_text(f"0, {CARD} on box-17\n")
    (run / "server.log").write_text("model_path='/tmp/there/.sglang-gpu/golden/model'\n")
    made = make(run, tmp_path / "into")
    assert made.name == "h200-0.5.16-baseline"
    said = (made / "smi" / "ready-gpus.txt").read_text()
    assert said == "0, GPU-00000000-0000-0000-0000-000000000000 on host\n"
    log = gzip.decompress((made / "server.log.gz").read_bytes()).decode()
    assert log == "model_path='/there/.sglang-gpu/golden/model'\n"


def test_the_same_visit_makes_the_same_bytes(tmp_path: Path) -> None:
    run = visit(tmp_path / "run")
    (run / "server.log").write_text("ready\n")
    first = (make(run, tmp_path / "into") / "server.log.gz").read_bytes()
    assert (make(run, tmp_path / "into") / "server.log.gz").read_bytes() == first


def test_a_later_visit_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    run = visit(tmp_path / "run")
    (run / "killed.json").write_text("{}")
    make(run, tmp_path / "into")
    (run / "killed.json").unlink()
    assert [path.name for path in make(run, tmp_path / "into").iterdir()] == ["visit.json"]


def test_a_folder_that_is_no_visit_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make(tmp_path, tmp_path / "into")
    assert "run.sh visit" in capsys.readouterr().err


def event(kind: str, name: str, at: float, length: float = 5.0, **args: object) -> dict[str, Any]:
    return {"ph": "X", "cat": kind, "name": name, "ts": at, "dur": length, "tid": 7, "args": args}


def test_of_a_trace_a_few_steps_are_kept_with_their_kernels(tmp_path: Path) -> None:
    events = [event("gpu_user_annotation", "step[EXTEND bs=1]", 0.0, 90.0)]
    for number in range(6):
        at = 100.0 + 10 * number
        events += [
            event("gpu_user_annotation", "step[TARGET_VERIFY bs=1]", at, 8.0),
            event("kernel", "matmul", at + 1, 3.0, stream=7, grid=[1, 2, 3]),
            event("python_function", "far too many of these", at),
        ]
    trace = tmp_path / "a.trace.json.gz"
    trace.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    text = trimmed(trace, cleaner({}))
    reading = read_torch_trace([text.encode()])
    assert reading.steps == KEPT_STEPS
    assert [(kernel.name, kernel.in_steps) for kernel in reading.kernels] == [("matmul", KEPT_STEPS)]
    assert "python_function" not in text
