"""A run folder judged twice gives the same bytes: elsewhere, under another locale, time zone and hash seed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("simbox")

from simbox.knobs import Knobs
from tests.scenarios.generated_run import generate

ROOT = Path(__file__).parents[2]
JUDGED = ("verdicts.json", "verdict.json", "benchmark.json")
HERE = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
THERE = {
    "PYTHONHASHSEED": "4711",
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "de_DE.UTF-8",
    "COLUMNS": "47",
}


def restarted(folder: Path, launch: str, name: str) -> None:
    """Give the run one restart more: a launch of it again, under another name."""
    source, target = folder / "launches" / launch, folder / "launches" / name
    shutil.copytree(source, target)
    for file in ("launch.json", "generations.jsonl"):
        text = (target / file).read_text(encoding="utf-8")
        (target / file).write_text(text.replace(launch, name), encoding="utf-8")
    told = json.loads((target / "launch.json").read_text(encoding="utf-8"))
    told["launch"] |= {"role": "restart", "round": 1, "workloads": ["single"]}
    told["wall_s"] = 12.5
    (target / "launch.json").write_text(json.dumps(told), encoding="utf-8")
    step = {
        "round": 1,
        "stop": False,
        "reason": "open",
        "launches": [name],
        "left_s": 180.0,
        "budget_s": 180.0,
    }
    (folder / "sampling.jsonl").write_text(json.dumps(step) + "\n", encoding="utf-8")


def judged(folder: Path, cwd: Path, environment: dict[str, str]) -> dict[str, bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "LC_", "LANG"))}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tokgate")), "--root", str(ROOT), "report", os.path.relpath(folder, cwd)],
        cwd=cwd,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )  # fmt: skip
    assert (folder / "verdicts.json").exists(), done.stdout + done.stderr
    assert json.loads((folder / "verdict.json").read_text("utf-8"))["unclassified"] == [], done.stdout
    return {name: (folder / name).read_bytes() for name in JUDGED}


@pytest.mark.slow
def test_the_same_folder_gives_the_same_bytes_wherever_it_is_judged(tmp_path: Path) -> None:
    run = tmp_path / "here" / "run"
    generate(run, Knobs(), seed=3)
    restarted(run, "02-eagle3-2step", "13-eagle3-2step-restart-1")
    elsewhere = tmp_path / "far away" / "ünder" / "x"
    shutil.copytree(run, elsewhere)
    (cwd := tmp_path / "cwd").mkdir()

    first = judged(run, ROOT, HERE)
    second = judged(elsewhere, cwd, THERE)
    third = judged(run, cwd, THERE)

    assert len(json.loads(first["verdicts.json"])) > 15
    launches = {name for v in json.loads(first["verdicts.json"]) for name in v["launches"]}
    assert "13-eagle3-2step-restart-1" in launches
    for name in JUDGED:
        assert second[name] == first[name], name
        assert third[name] == first[name], name
