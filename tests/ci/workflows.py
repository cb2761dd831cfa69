"""The workflow files, and their scripts run as a runner runs them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
# A process table of its own: servers that other tests are running make no machine unclean here.
ALONE = (
    "unshare",
    *(() if os.geteuid() == 0 else ("-U", "-r")),
    "--pid",
    "--mount-proc",
    "--fork",
    "--kill-child",
)
# What a runner calls for `shell: bash`; a step without one gets less.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


class Step(NamedTuple):
    workflow: str
    job: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.content.get("name") or self.content.get("run") or self.content["uses"])


def read(path: Path) -> dict[str, Any]:
    """Return the workflow; YAML 1.1 reads the key `on` as true."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    found["on"] = found.pop(True)
    return dict(found)


def steps() -> Iterator[Step]:
    for path in FILES:
        for job, content in read(path)["jobs"].items():
            for step in content["steps"]:
                yield Step(path.name, job, step)


def script(job: str, name: str) -> str:
    """Return the script of one step of gate.yml."""
    (found,) = [s for s in steps() if (s.workflow, s.job, s.name) == ("gate.yml", job, name)]
    return str(found.content["run"])


class Runner:
    """A folder tree as a runner has it; every program a step finds first is one that a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.programs = folder / "programs"
        self.temp = folder / "temp"
        self.reports = folder / "reports"
        for made in (self.checkout / ".venv" / "bin", self.programs, self.temp, self.reports):
            made.mkdir(parents=True)
        self._output, self._summary = folder / "output", folder / "summary"
        self._output.touch()
        self._summary.touch()

    @property
    def outputs(self) -> dict[str, str]:
        lines = self._output.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def summary(self) -> str:
        return self._summary.read_text(encoding="utf-8")

    def install(self, path: Path, text: str) -> None:
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HOME": str(self.checkout.parent),
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_TRACKING_ID": "github_1",
            "GITHUB_OUTPUT": str(self._output),
            "GITHUB_STEP_SUMMARY": str(self._summary),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_RUN_ID": "7",
            "ACTIONS_RUNTIME_TOKEN": "a-token-of-the-job",
            "REPORTS": str(self.reports),
            **more,
        }

    def start(
        self,
        text: str,
        environment: Mapping[str, str] | None = None,
        *,
        cwd: Path | None = None,
        enter: tuple[str, ...] = (),
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (*enter, *BASH, "-c", text),
            cwd=cwd or self.checkout,
            env=self.environment(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self,
        text: str,
        environment: Mapping[str, str] | None = None,
        *,
        cwd: Path | None = None,
        enter: tuple[str, ...] = (),
    ) -> tuple[int, str]:
        """Return exit code and everything that was said."""
        with self.start(text, environment, cwd=cwd, enter=enter) as process:
            said, _ = process.communicate(timeout=120)
            return process.returncode, said
