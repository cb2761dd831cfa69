"""Who disturbs a session acts in the launch that it was told, on what is that launch's, and not before: with a torch of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from disturb import GENERATIONS, HELD

from tests.gpu_host.conftest import GPU_HOST

LAUNCH, MODULE = "03-eagle3-2step-pinned", "sglang.launch_server"
# Says when it is imported and when the card is first used: what makes a context on it.
TORCH = """
import os, sys
uint8 = bfloat16 = None
def _say(what):
    with open(os.environ["TOLD"], "a") as told:
        told.write(what + "\\n")
_say("imported")
class _Held:
    def numel(self): return self.n
    def __matmul__(self, other): return self
def empty(n, dtype, device):
    _say(f"on {device}: {n}")
    held = _Held(); held.n = n
    return held
def randn(a, b, dtype, device):
    _say(f"on {device}: {a} x {b}")
    return _Held()
class cuda:
    @staticmethod
    def synchronize(device):
        _say(f"synchronized {device}")
"""


@pytest.fixture
def torch_of_ours(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "torch.py").write_text(TORCH, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(tmp_path), "TOLD": str(tmp_path / "told")}


def begun(what: str, runs: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start it, and return once it is there."""
    process = subprocess.Popen(
        [sys.executable, str(GPU_HOST / "disturb.py"), what, str(runs), LAUNCH, MODULE, "3"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def take_generations(runs: Path, launch: str) -> None:
    """Leave what a session leaves once it has taken a few generations."""
    bodies = runs / "20261130T070000-h200" / "launches" / launch / "bodies"
    bodies.mkdir(parents=True)
    (bodies / f"{GENERATIONS:04d}.sse").touch()


def test_half_a_gibibyte_is_held_from_the_beginning_on(tmp_path: Path, torch_of_ours: dict[str, str]) -> None:
    with begun("hold", tmp_path, torch_of_ours) as process:
        assert (tmp_path / "told").read_text().splitlines() == [
            "imported",
            f"on cuda:3: {HELD}",
            "synchronized cuda:3",
        ]
        assert process.poll() is None
        process.kill()


def test_a_load_has_imported_torch_and_not_touched_the_card_before_its_launch_is_under_way(
    tmp_path: Path, torch_of_ours: dict[str, str]
) -> None:
    """A context on the card would make the machine unclean before the launch, and importing takes as long as a workload."""
    with begun("load", tmp_path, torch_of_ours) as process:
        assert (tmp_path / "told").read_text() == "imported\n"
        process.kill()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """One of the launch that is meant, one of the launch before it, one of another run, and something else of the launch."""
    run, other = "20261130T070000-h200", "20261130T080000-h200"
    marks = {
        "meant": (f"{run}/{LAUNCH}/ab12", MODULE),
        "before": (f"{run}/01-baseline/ab12", MODULE),
        "other": (f"{other}/{LAUNCH}/ab12", MODULE),
        "child": (f"{run}/{LAUNCH}/ab12", "from multiprocessing.spawn"),
    }
    started = {
        name: subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); input()", "-m", module],
            env={**os.environ, "TOKGATE_MARK": mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, (mark, module) in marks.items()
    }
    for process in started.values():
        assert process.stdout is not None
        process.stdout.readline()
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def test_the_server_of_that_launch_is_killed_and_no_other_process(
    tmp_path: Path, servers: dict[str, subprocess.Popen[str]]
) -> None:
    with begun("kill", tmp_path, dict(os.environ)) as process:
        take_generations(tmp_path, LAUNCH)
        assert process.wait() == 0
    assert servers["meant"].wait() == -9
    assert [name for name, one in servers.items() if one.poll() is None] == ["before", "other", "child"]


def test_where_no_such_server_runs_nothing_was_planted(tmp_path: Path) -> None:
    take_generations(tmp_path, LAUNCH)
    with begun("kill", tmp_path, dict(os.environ)) as process:
        assert process.wait() == 1
