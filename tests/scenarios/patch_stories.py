"""Gates on a change of the box's SGLang: a real patch of real sources, in a checkout of its own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from simbox.environment import lay
from tests.hosts.side_trees import git

from .gate_run import GateRun, play
from .selecting import one_stream

WORKER = "python/sglang/srt/speculative/eagle_worker_v2.py"
_VERIFY = "        batch.forward_mode = ForwardMode.TARGET_VERIFY\n"
_CLASS = "class EAGLEWorkerV2:\n"


class Change(NamedTuple):
    name: str  # of its commit
    before: str
    after: str


# 1.2 ms of a cycle of 19.7: 5.7 % of decode speed.
COSTS = Change("verify: wait", _VERIFY, f"        __import__('time').sleep(0.0012)\n{_VERIFY}")
NOTHING = Change("a comment", _CLASS, f"# Nothing that runs.\n\n\n{_CLASS}")
BREAKS = Change("an import", _CLASS, f"from sglang.srt.nowhere import nothing\n\n\n{_CLASS}")


def costs(folder: Path) -> GateRun:
    return _measured(folder, COSTS)


def nothing(folder: Path) -> GateRun:
    return _measured(folder, NOTHING)


def breaks(folder: Path) -> GateRun:
    return _measured(folder, BREAKS)


def _measured(folder: Path, change: Change) -> GateRun:
    """Hold a change against the commit before it: the EAGLE-3 arm alone, one stream."""
    repository = _checkout(folder.parent / f"{folder.name}-sglang", change)
    return play(
        folder,
        [],
        *("-m", "patch", "-k", "eagle3-2step", "--sglang-repo", str(repository)),
        *("--base", "HEAD~1", "--head", "HEAD"),
        settings=(
            *one_stream(repeats=6),
            "sampling.gpu_time_s=900",
        ),  # as many as it takes, on a busy machine too
    )


def _checkout(folder: Path, change: Change) -> Path:
    """Make a repository of the box's SGLang with the change as its last commit."""
    python = folder / "python"
    python.mkdir(parents=True)
    lay("clean", python)
    git(folder, "init", "--quiet", "-b", "main")
    _commit(folder, "as it was")
    file = folder / WORKER
    text = file.read_text(encoding="utf-8")
    assert text.count(change.before) == 1
    file.write_text(text.replace(change.before, change.after), encoding="utf-8")
    _commit(folder, change.name)
    return folder


def _commit(folder: Path, words: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", words)
