"""What killed gates left on a host is named; what anyone may still use is not, and nothing is removed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokgate.hosts.connection import Host, connect
from tokgate.hosts.launch_folders import abandoned_launches
from tokgate.rig.machine import HostSpec


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


def leave(host: Host, name: str, *, hours_ago: float) -> Path:
    folder = Path(host.spec.work_dir) / "launches" / name
    (folder / "cwd").mkdir(parents=True)
    (folder / "server.log").write_text("x" * 2_000_000)
    then = time.time() - hours_ago * 3600
    for path in (folder / "server.log", folder / "cwd", folder):
        os.utime(path, (then, then))
    return folder


def test_nothing_there_is_nothing_to_say(host: Host) -> None:
    assert abandoned_launches(host) == ()


def test_an_old_folder_is_named_with_its_size_and_left_alone(host: Host) -> None:
    old = leave(host, "run1-01-baseline-ab-cd", hours_ago=30)
    leave(host, "run2-02-eagle3-ab-cd", hours_ago=5)
    leave(host, "run3-just-now", hours_ago=0)
    (note,) = abandoned_launches(host)
    assert note.severity == "note"
    assert note.what == (
        f"2 launches left their folder in {host.spec.work_dir}/launches when their gate was killed"
        " (4.0 MB, untouched for 5.0 h or more): run1-01-baseline-ab-cd, run2-02-eagle3-ab-cd"
    )
    assert (old / "server.log").exists()


def test_a_folder_that_a_process_uses_is_not_abandoned(host: Host) -> None:
    named = leave(host, "run1-supervised", hours_ago=30)
    worked_in = leave(host, "run1-served", hours_ago=30)
    waiting = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with (
        subprocess.Popen([*waiting, f"{named}/supervisor.py"], stdin=subprocess.PIPE) as supervisor,
        subprocess.Popen(waiting, stdin=subprocess.PIPE, cwd=worked_in / "cwd") as server,
    ):
        assert abandoned_launches(host) == ()
        supervisor.kill()
        server.kill()
    (note,) = abandoned_launches(host)
    assert note.what.startswith("2 launches")


def test_many_are_counted(host: Host) -> None:
    for number in range(8):
        leave(host, f"run{number}", hours_ago=2)
    (note,) = abandoned_launches(host)
    assert note.what.endswith("run0, run1, run2, run3, run4 and 3 more")
