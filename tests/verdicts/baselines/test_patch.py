from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tokgate.verdicts.baselines.patch import patch

PATH = "baselines/small/0123456789ab.json"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "{\n 1\n}\n"),
        ("{\n 1,\n 2\n}\n", "{\n 1,\n 3\n}\n"),
        ("{\n 1\n}", "{\n 2\n}\n"),  # somebody's editor left out the last line's end
        ("a\n", "a\u2028b\x0cc\rd\n"),  # no other line break than \n ends a line
        ("\n\n\n", "\n"),
        ("".join(f"{n}\n" for n in range(500)), "".join(f"{n * 3}\n" for n in range(500))),
    ],
)
def test_git_applies_it(tmp_path: Path, before: str | None, after: str) -> None:
    file = tmp_path / PATH
    file.parent.mkdir(parents=True)
    if before is not None:
        file.write_bytes(before.encode())
    (tmp_path / "p").write_bytes(patch(PATH, before, after).encode())
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "p"], cwd=tmp_path, check=True)

    assert file.read_bytes().decode() == after


def test_no_change_is_no_patch() -> None:
    assert patch(PATH, "a\n", "a\n") == ""
