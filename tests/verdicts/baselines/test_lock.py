"""One writer of baselines at a time, each of them a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tokgate.errors import BaselineError
from tokgate.verdicts.baselines.lock import NAME, writing

WRITER = """
import sys
from pathlib import Path
from tokgate.verdicts.baselines.lock import writing
with writing(Path(sys.argv[1]), lambda: print("waiting", flush=True)):
    inside = Path(sys.argv[1], "inside")
    inside.touch(exist_ok=False)  # an error where somebody else is in
    print("in", flush=True)
    sys.stdin.read()
    inside.unlink()
print("out", flush=True)
"""


def writer(root: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_second_writer_says_that_it_waits_and_comes_after_the_first(tmp_path: Path) -> None:
    with writer(tmp_path) as first, writer_after(first, tmp_path) as second:
        assert hear(second) == "waiting"
        first.communicate("")
        assert hear(second) == "in"
        second.communicate("")
    assert list(tmp_path.iterdir()) == []


def writer_after(first: subprocess.Popen[str], root: Path) -> subprocess.Popen[str]:
    assert hear(first) == "in"
    return writer(root)


def test_a_writer_that_was_killed_keeps_nobody_out(tmp_path: Path) -> None:
    with writer(tmp_path) as killed:
        assert hear(killed) == "in"
        killed.kill()
    assert (tmp_path / NAME).exists()
    with writing(tmp_path, lambda: pytest.fail("nobody writes any more")):
        pass
    assert not (tmp_path / NAME).exists()


def test_of_many_that_wait_one_at_a_time_comes_in(tmp_path: Path) -> None:
    """Whoever waited for a file that is gone by now must not be in beside the next one."""
    waiting = []
    with writing(tmp_path):
        for _ in range(4):
            waiting.append(writer(tmp_path))
            assert hear(waiting[-1]) == "waiting"
    for process in waiting:
        process.stdin.close() if process.stdin is not None else None
    assert [process.wait() for process in waiting] == [0] * 4
    for process in waiting:
        assert process.stdout is not None
        assert process.stdout.read().split() == ["in", "out"]
        process.stdout.close()


def test_a_folder_that_takes_no_lock_says_why(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(BaselineError, match="hold the baselines of"), writing(tmp_path):
        pytest.fail("nothing is held")
