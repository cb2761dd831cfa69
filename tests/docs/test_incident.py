"""The incident's page quotes what the gate really prints, where that does not depend on the moment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci.workflows import ALONE

from .pages import ROOT

PAGE = (ROOT / "docs" / "incident.md").read_text(encoding="utf-8")
# A command, indented, and behind it the block of what it prints.
QUOTED = re.findall(r"^    \.venv/bin/pytest ([^\n]*)\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_shows_its_outcome() -> None:
    assert len(QUOTED) == 9
    for command, output in QUOTED:
        assert re.match(r"tokgate  (pass|REGRESSED|INVALID)  exit (0|11|13)  rig sim-8gpu\n", output), command


@pytest.mark.slow
@pytest.mark.skipif(
    subprocess.run((*ALONE, "true"), check=False, capture_output=True).returncode != 0,
    reason="no process table of its own can be had here: servers of other tests would make the machine unclean",
)
@pytest.mark.parametrize("scenario", ["leftover-no-owner", "nccl-dropped"])
def test_it_prints_what_is_quoted(scenario: str, tmp_path: Path) -> None:
    ((command, output),) = [quoted for quoted in QUOTED if quoted[0].endswith(scenario)]
    apart = (
        "--sim-state",
        f"{tmp_path}/box",
        "--rig-set",
        f"host.work_dir={tmp_path}/work",
        "--report-dir",
        str(tmp_path),
    )
    done = subprocess.run(
        (*ALONE, sys.executable, "-m", "pytest", *command.split(), *apart),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(done.stdout.split())
    for part in output.split("…"):
        assert " ".join(part.split()) in said, done.stdout[-3000:]
    assert f"exit {done.returncode} " in output
