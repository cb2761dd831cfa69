"""Claim: the gate's main job on the simulated box takes about 120 s of wall time on two cores.

    python benchmarks/gate_time.py            runs `pytest perf_tests -m eagle3`, prints where its time went
    python benchmarks/gate_time.py RUN        the same of a run folder of this machine, since its last boot

Stages end when the run folder says so: at the time stamps of its files, and at those that generations carry.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 120.0
# Judged or not: how long it took is the same.
MEASURED = {0, 10, 12, 13}


@dataclass(frozen=True)
class Stage:
    name: str
    ended: float  # seconds since 1970
    seconds: float = 0.0


def main() -> None:
    if len(sys.argv) > 1:
        report(Path(sys.argv[1]), None)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "perf_tests", "-m", "eagle3", "--report-dir", folder]
        began = time.time()
        ended = subprocess.run(command, cwd=ROOT, check=False).returncode
        took = time.time() - began
        if ended not in MEASURED:
            sys.exit(f"the gate ended with {ended}: its time says nothing")
        report(Path(folder, "latest"), (began, took))


def report(run: Path, around: tuple[float, float] | None) -> None:
    """Print the table. `around`: when the command began and how long it took, where that is known."""
    if not (run / "junit.xml").exists():
        sys.exit(f"{run} is no run folder, or its run is not over")
    info = read(run / "run.json")
    began = around[0] if around else dt.datetime.fromisoformat(info["started_at"]).timestamp()
    stages = timed(began, [*stages_of(run), Stage("verdicts and reports", written(run, "junit.xml"))])
    took = around[1] if around else stages[-1].ended - began
    print(f"\n{info['rig']}, {info['run_id']}\n\n{'stage':44} {'s':>7}\n{'-' * 52}")
    for stage in stages:
        print(f"{stage.name:44} {stage.seconds:7.1f}")
    if around:
        print(f"{'end of the program':44} {began + took - stages[-1].ended:7.1f}")
    verdict = "holds" if took <= LIMIT_S else "DOES NOT HOLD"
    print(f"{'-' * 52}\n{'total':44} {took:7.1f}   {LIMIT_S:.0f} s: {verdict}")


def stages_of(run: Path) -> Iterable[Stage]:
    """Yield the stages in the order in which they ended."""
    yield Stage("pytest, collecting", written(run, "rig.json"))
    yield Stage("host, software: fingerprint", written(run, "fingerprint.json"))
    yield Stage("clean slate at the start", written(run, "slate-start.json"))
    launches = [f for f in (run / "launches").iterdir() if (f / "server_info.json").exists()]
    for folder in sorted(launches, key=lambda f: written(f, "server_info.json")):
        yield from of_launch(folder)
    if (run / "slate-end.json").exists():
        yield Stage("clean slate at the end", written(run, "slate-end.json"))


def of_launch(folder: Path) -> Iterable[Stage]:
    launch = read(folder / "launch.json")
    name, server = folder.name, launch["server"]
    ready = written(folder, "server_info.json")
    yield Stage(f"{name}: slate, client", ready - server["ready_after_s"])
    yield Stage(f"{name}: start until tokens come", ready)
    if (folder / "environment.json").exists():
        yield Stage(f"{name}: environment proven", written(folder, "environment.json"))
    lines = folder / "generations.jsonl"
    text = lines.read_text(encoding="utf-8") if lines.exists() else ""
    offset = time.time() - time.monotonic()
    ends: dict[str, float] = {}
    for one in map(json.loads, text.splitlines()):
        if one["end_ns"] is not None:
            ends[one["workload"]] = max(ends.get(one["workload"], 0.0), one["end_ns"] / 1e9 + offset)
    for workload, ended in sorted(ends.items(), key=lambda pair: pair[1]):
        yield Stage(f"{name}: {workload}", ended)
    stopped = written(folder, "server.log")
    seconds = (launch["stop"] or {}).get("seconds", 0.0)
    yield Stage(f"{name}: last looks", stopped - seconds)
    yield Stage(f"{name}: stop", stopped)


def timed(began: float, stages: Iterable[Stage]) -> list[Stage]:
    """Give each stage the time since the one before it ended."""
    found: list[Stage] = []
    for stage in stages:
        before = found[-1].ended if found else began
        ended = max(stage.ended, before)
        found.append(Stage(stage.name, ended, ended - before))
    return found


def written(folder: Path, name: str) -> float:
    return (folder / name).stat().st_mtime


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
