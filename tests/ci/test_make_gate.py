"""`make gate`: the gate's exit code and where its next step stands are what make itself ends with."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
GATE = '#!/bin/sh\ncase "$*" in *perf_tests*) echo "next: grep this"; {};; esac\n'


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("exit 0", ["next: grep this"]),
        ("exit 13", ["next: grep this", "make: *** [Makefile:N: what to do next stands above] Error 13"]),
        (
            "kill -TERM $$",
            [
                "next: grep this",
                "the gate was ended by signal 15",
                "make: *** [Makefile:N: what to do next stands above] Error 143",
            ],
        ),
    ],
)
def test_below_the_next_step_stands_one_line_with_the_code(
    tmp_path: Path, ends: str, said: list[str]
) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "stamp").touch()
    program = tmp_path / "python"
    program.write_text(GATE.format(ends))
    program.chmod(0o755)
    done = subprocess.run(
        ["make", "gate", f"VENV={program}"], cwd=tmp_path, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )  # fmt: skip
    told = re.sub(r"(Makefile:)\d+", r"\1N", done.stdout).splitlines()
    assert [line for line in told if "Terminated" not in line] == said
    assert done.returncode == (0 if ends == "exit 0" else 2)
