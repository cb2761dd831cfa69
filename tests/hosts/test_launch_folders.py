"""What killed gates left on a host is named, and removed by the next one; what anyone may still use is neither."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokgate.hosts.connection import Host, connect
from tokgate.hosts.launch_folders import abandoned_launches, remove_abandoned
from tokgate.rig.machine import HostSpec


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


def leave(host: Host, name: str, *, hours_ago: float) -> Path:
    folder = Path(host.spec.work_dir) / "launches" / name
    (folder / "cwd").mkdir(parents=True)
    (folder / "server.log").write_text("x" * 2_000_000)
    (folder / "supervisor.py").write_text("")
    then = time.time() - hours_ago * 3600
    for path in (folder / "server.log", folder / "supervisor.py", folder / "cwd", folder):
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


def test_the_next_gate_removes_them_at_once_where_their_own_is_proven_dead(
    host: Host, tmp_path: Path
) -> None:
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "kept").touch()
    just_now = leave(host, "dead-01-baseline-ab12cd34-abc123", hours_ago=0)
    (just_now / "out").symlink_to(treasure)
    node = leave(host, "dead-01-baseline-ab12cd34-abc123-node1", hours_ago=0)
    old = leave(host, "older-01-baseline-ab12cd34-abc123", hours_ago=3)
    another = leave(host, "alive-01-baseline-ab12cd34-abc123", hours_ago=0)
    somebodys = leave(host, "dead-notes", hours_ago=30)
    (somebodys / "supervisor.py").unlink()
    (said,) = remove_abandoned(host, ["dead"])
    assert f"{just_now.name}, {node.name}, {old.name} (6.0 MB)" in said
    assert [one.exists() for one in (just_now, node, old, another, somebodys)] == [False] * 3 + [True] * 2
    assert (treasure / "kept").exists()
    assert remove_abandoned(host, ["dead"]) == ()


def test_what_a_process_uses_is_not_removed_either(host: Host) -> None:
    name = "dead-01-baseline-ab12cd34-abc123"
    folder = leave(host, name, hours_ago=30)
    waiting = [sys.executable, "-c", "import sys; sys.stdin.read()", f"{folder}/supervisor.py"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as supervisor:
        assert remove_abandoned(host, ["dead"]) == ()
        supervisor.kill()
    assert folder.exists()
    assert name in remove_abandoned(host, ["dead"])[0]
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")
def test_what_another_user_s_gate_left_is_named_and_stays(host: Host) -> None:
    folder = leave(host, "dead-01-baseline-ab12cd34-abc123", hours_ago=30)
    os.chown(folder, 65534, 65534)
    assert remove_abandoned(host, ["dead"]) == ()
    (note,) = abandoned_launches(host)
    assert folder.name in note.what
    assert "the user that they belong to" in str(note.do)
