"""A visit on the simulated box: everything is captured, the killed server's memory comes back, and what comes home can be test data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from capture_data import make

from tests.gpu_host.conftest import GPU_HOST

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_a_server_is_captured_and_killed(tmp_path: Path) -> None:
    command = [sys.executable, str(GPU_HOST / "visit.py"), "--rig", "sim-8gpu", "--arm", "eagle3-2step"]
    command += ["--label", "short", "--do", "captures,killed", "--report-dir", str(tmp_path / "runs")]
    command += ["--rig-set", f"host.work_dir={tmp_path / 'work'}"]
    environment = {**os.environ, "SIMBOX_STATE": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (run,) = (tmp_path / "runs").iterdir()
    killed = json.loads((run / "killed.json").read_text())
    assert killed["processes"] > 8  # a scheduler each GPU, and their parent
    assert killed["held_mib"] > 0
    assert killed["clean"]
    assert killed["memory_back_after_s"] >= killed["gone_after_s"]
    rows = [json.loads(line) for line in (run / "http" / "index.jsonl").read_text().splitlines()]
    assert {row["name"] for row in rows} >= {
        "server_info",
        "generate-plain",
        "generate-bad-json",
        "metrics-after",
    }
    assert not any(row.get("error") for row in rows)
    assert len(list((run / "http").glob("stream-some-*.sse"))) == 4
    made = make(run, tmp_path / "data")
    assert made.name == "sim-8gpu-0.5.23-eagle3-2step-short"
    assert json.loads((made / "visit.json").read_text())["simulated"] is True
    assert "Bearer" not in (made / "http" / "index.jsonl").read_text()
