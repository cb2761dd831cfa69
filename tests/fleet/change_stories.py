"""A change of SGLang, measured on a pool: every host has a checkout of its own, all at one path; on one host another commit lies there."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.side_trees import git, git_init

from .net_host import NetHost
from .stand import Stand
from .stories import Playing, Run, judged_again, wait_until_clean

WORKER = "python/sglang/srt/speculative/eagle_worker_v2.py"
_VERIFY = "        batch.forward_mode = ForwardMode.TARGET_VERIFY\n"
# 40 ms more of a cycle of 20: beyond the floor of this rig (tests/fleet/rig.py) and its prior on restarts, at any load.
_WAITS = f"        __import__('time').sleep(0.040)\n{_VERIFY}"


@dataclass(frozen=True)
class Changed:
    run: Run
    again: Run
    left: dict[str, list[str]]
    sides_left: list[Path]

    def of(self, host: str) -> tuple[str, ...]:
        """Return the arms that a host has measured."""
        return tuple(group for shift in self.run.shifts(host) for group in shift["groups"])


def measure_a_change(stand: Stand) -> Changed:
    """Measure two arms on both sides of a slower verify; b has another commit of that name, so c measures what it began."""
    repository = _checkout(stand.folder / "sglang", "verify: wait", _WAITS)
    other = _checkout(stand.folder / "another", "verify: wait longer", _WAITS.replace("0.040", "0.041"))
    _put(stand.hosts["b"], other, repository)
    play = Playing(
        stand,
        ["arm-1", "arm-2"],
        *("-n", "3", "-m", "patch", "--sglang-repo", str(repository), "--base", "HEAD~1", "--head", "HEAD"),
    )
    run = play.over()
    left = wait_until_clean(list(stand.hosts.values()))
    sides = [path for host in stand.hosts.values() for path in host.work_dir.glob("sides/*")]
    return Changed(run, judged_again(stand, run, "-m", "patch"), left, sides)


def _checkout(folder: Path, words: str, after: str) -> Path:
    python = folder / "python"
    python.mkdir(parents=True)
    # Here, for without the box these stories are still collected.
    from simbox.environment import lay

    lay("clean", python)
    git_init(folder)
    _commit(folder, "as it was")
    file = folder / WORKER
    text = file.read_text(encoding="utf-8")
    assert text.count(_VERIFY) == 1
    file.write_text(text.replace(_VERIFY, after), encoding="utf-8")
    _commit(folder, words)
    return folder


def _commit(folder: Path, words: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", words)


def _put(host: NetHost, other: Path, there: Path) -> None:
    """Have another folder stand at a path, on this host alone."""
    argv = host.space.enter(["mount", "--bind", str(other), str(there)], cwd=host.folder)
    subprocess.run(argv, check=True, capture_output=True)
