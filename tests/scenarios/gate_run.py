"""The gate run on the simulated box as a user runs it, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simbox.truth_reader import read
from tests.gate.machine import machine

ROOT = Path(__file__).parents[2]
RIG = "sim-8gpu"
LIMIT_S = 480.0  # the plan, and the 180 s of restarts that the rig allows, on a machine that has other work
# Worst first, as tokgate.records orders them: what stands for several verdicts of one check.
_WORST = ("regressed", "invalid", "inconclusive", "no-baseline", "improved", "pass")

# Written once all is judged, for a person who wants to play it again: these may name a scenario.
FOR_PEOPLE = frozenset({"unrecorded.txt", "report.html"})


@dataclass(frozen=True)
class GateRun:
    """A session that is over."""

    command: tuple[str, ...]
    code: int
    said: str
    folder: Path
    state: Path | None  # of the box it was played on
    late: tuple[str, ...]  # per server start whose times are worthless, why
    verdict: dict[str, Any]  # verdict.json
    repeated: str | None = None  # why it was played a second time

    def verdicts(self, **wanted: str | None) -> list[dict[str, Any]]:
        """Return the verdicts whose fields are as wanted: check, arm, launch, workload, metric, outcome."""
        return [v for v in self.verdict["verdicts"] if all(v[k] == x for k, x in wanted.items())]

    def outcome(self, **wanted: str | None) -> str | None:
        """Return the worst outcome of those verdicts; None when there is none."""
        found = {v["outcome"] for v in self.verdicts(**wanted)}
        return next((word for word in _WORST if word in found), None)

    def causes(self) -> list[str]:
        """Return the names of the causes that the report ranks, the first first."""
        return [cause["name"] for cause in self.verdict["diagnosis"]["causes"]]

    def files(self, pattern: str) -> list[Path]:
        return sorted(path for path in self.folder.glob(pattern) if path.is_file())

    def text(self, pattern: str) -> str:
        """Return the text of all files of the run folder that fit."""
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in self.files(pattern))

    def launch(self, launch_id: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.folder / "launches" / launch_id / "launch.json").read_text())
        return told

    def told(self) -> str:
        """Summarise the session for a failed assertion."""
        rows = [
            f"  {v['outcome']:12} {v['check']} {v['launch'] or ''}: {v['headline']}"
            for v in self.verdict["verdicts"]
        ]
        return "\n".join([f"exit code {self.code}; {' '.join(self.command)}", *rows, self.said[-4000:]])


def words_of(verdict: dict[str, Any]) -> str:
    """Everything that a reader of one verdict is told, in one line."""
    parts = [verdict["headline"], *verdict["evidence"], *verdict["warnings"], verdict["do"] or ""]
    parts += [f"{d['key']}: {d['before']} -> {d['now']}" for d in verdict["differs"]]
    return " | ".join(" ".join(str(part).split()) for part in parts)


def play(
    folder: Path,
    scenarios: Sequence[str],
    *arguments: str,
    settings: Sequence[str] = (),
    seed: int | None = None,
    meanwhile: Callable[[Path], None] | None = None,
) -> GateRun:
    """Run `pytest perf_tests` on a fresh box, in a process table of its own. `folder` must be empty.

    All paths lie in `folder`, so its own must not tell what is played. `meanwhile` is called with the folder of
    reports while the session runs.
    """
    state, reports = folder / "box", folder / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "perf_tests", "-p", "no:cacheprovider", "--rig", RIG]
    for scenario in scenarios:
        command += ["--sim-scenario", scenario]
    command += ["--sim-seed", str(seed)] if seed is not None else []
    command += ["--sim-state", str(state), "--report-dir", str(reports)]
    for setting in (f"host.work_dir={folder}/work", *settings):
        command += ["--rig-set", setting]
    with machine() as own:
        program = own.start(
            [*command, *arguments],
            cwd=ROOT,
            env=closed_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if meanwhile is not None:
            meanwhile(reports)
        code, said = program.finish(LIMIT_S)
    late = tuple(f"{run.path.parent.name}: {run.late}" for run in read(state) if run.late)
    folders = [path for path in reports.glob("*") if not path.is_symlink() and path.name != "history"]
    assert len(folders) == 1, said
    return GateRun(
        (*command[2:], *arguments), code, said, folders[0], state, late, _verdict(folders[0], said)
    )


def closed_environment() -> dict[str, str]:
    """Return what a user's shell would have: nothing of the pytest around us."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SIMBOX_", "PYTHONPATH"))}
    return ours | {"COLUMNS": "200"}


def rejudge(folder: Path, *arguments: str) -> GateRun:
    """Run `pytest perf_tests --rejudge` on a run folder."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "perf_tests",
        "-p",
        "no:cacheprovider",
        "--rejudge",
        str(folder),
    ]
    command += arguments
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=closed_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return GateRun(
        tuple(command[2:]), done.returncode, done.stdout, folder, None, (), _verdict(folder, done.stdout)
    )


def _verdict(folder: Path, said: str) -> dict[str, Any]:
    assert (folder / "verdict.json").is_file(), said
    verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    return verdict
