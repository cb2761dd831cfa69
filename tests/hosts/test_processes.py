from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sshd import Sshd
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.processes import belonging, environ_of, marked, processes, tree, under
from tokgate.parsers.environ import read_environ
from tokgate.records import ProcessSeen
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec

# Starts a child of its own, and one that leaves the session; says their numbers; ends with its stdin.
FAMILY = """
import os, subprocess, sys
near = subprocess.Popen(['sleep', '1000'])
far = subprocess.Popen(['sleep', '1000'], start_new_session=True)
print(near.pid, far.pid, flush=True)
sys.stdin.read()
near.kill(); far.kill(); near.wait(); far.wait()
"""


@pytest.fixture
def host() -> Host:
    return connect(HostSpec(python=sys.executable))


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return f"run-{os.getpid()}-{tmp_path.name}/01-baseline"


@pytest.fixture
def family(mark: str) -> Iterator[tuple[int, int, int]]:
    """(main, its child in the same session, its child in another session), all marked."""
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY],
        env={**os.environ, "TOKGATE_MARK": mark, "API_KEY": "tg-secret-123"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as main:
        assert main.stdout is not None
        near, far = map(int, main.stdout.readline().split())
        yield main.pid, near, far
        assert main.stdin is not None
        main.stdin.close()


def test_marked_finds_the_whole_family_and_nothing_else(
    host: Host, family: tuple[int, int, int], mark: str
) -> None:
    run = mark.partition("/")[0]
    for prefix in (mark, run, f"{run}/"):
        assert {p.pid for p in marked(host, prefix)} == set(family)
    assert set(family) <= {p.pid for p in marked(host, "")}
    assert marked(host, mark[:-1]) == ()
    assert all(p.mark for p in marked(host, ""))


def test_a_row_says_who_it_is(host: Host, family: tuple[int, int, int], mark: str) -> None:
    row = next(p for p in processes(host) if p.pid == family[1])
    assert (row.ppid, row.sid, row.pgid) == (family[0], family[0], family[0])
    assert (row.comm, row.cmdline, row.mark) == ("sleep", "sleep 1000", mark)
    assert row.user == subprocess.check_output(["id", "-un"], text=True).strip()
    assert row.state in "SRD"
    assert row.start_ticks > 0


def test_the_reader_does_not_see_itself(host: Host) -> None:
    assert not [p for p in processes(host) if p.ppid == os.getpid() and "sys.stdin.buffer" in p.cmdline]


def test_a_tree_holds_descendants_session_and_mark(
    host: Host, family: tuple[int, int, int], mark: str
) -> None:
    main = next(p for p in processes(host) if p.pid == family[0])
    assert {p.pid for p in tree(host, main.pid, main.start_ticks, main.sid)} == set(family)
    # Once main is gone, its far child is nobody's descendant: only the mark still tells.
    assert tree(host, main.pid, main.start_ticks + 1, 999_999_999) == ()
    assert {p.pid for p in tree(host, main.pid, main.start_ticks + 1, 999_999_999, mark=mark)} == set(family)


def test_environments_are_read_whole_and_absent_processes_are_none(
    host: Host, family: tuple[int, int, int], mark: str
) -> None:
    found = environ_of(host, [*family, 999_999_999])
    assert found.pop(999_999_999) is None
    assert set(found) == set(family)
    for raw in found.values():
        assert raw is not None
        reading = read_environ(raw)
        assert reading.variables["TOKGATE_MARK"] == mark
        assert not reading.damaged


def test_secrets_in_command_lines_are_replaced(mark: str) -> None:
    redactor = Redactor()
    redactor.add("tg-secret-123")
    host = connect(HostSpec(python=sys.executable), redactor=redactor)
    argv = [sys.executable, "-c", "input()", "--api-key", "tg-secret-123"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as child:
        row = next(p for p in processes(host) if p.pid == child.pid)
        child.communicate(b"\n")
    assert row.cmdline.endswith("--api-key [redacted]")


def test_any_name_and_any_bytes_are_read(host: Host, mark: str) -> None:
    program = "import ctypes; ctypes.CDLL(None).prctl(15, b'a) S\\n(\\xff'); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, b"\xff\xfe"],
        env={**os.environ, "TOKGATE_MARK": mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (row,) = marked(host, mark)
        child.communicate(b"\n")
    assert row.comm == "a) S\n(\\xff"
    assert row.cmdline.endswith(" \\xff\\xfe")


def test_a_zombie_is_seen_as_one(host: Host) -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        child.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 10
        while (row := next(p for p in processes(host) if p.pid == child.pid)).state != "Z":
            assert time.monotonic() < deadline
        assert (row.cmdline, row.mark) == ("", None)


@pytest.mark.sshd
def test_it_is_the_same_behind_ssh(sshd: Sshd, family: tuple[int, int, int], mark: str) -> None:
    assert {p.pid for p in marked(connect(sshd.spec(python=sys.executable)), mark)} == set(family)


def seen(pid: int, ppid: int, sid: int, start: int, mark: str | None = None) -> ProcessSeen:
    return ProcessSeen(
        pid=pid, start_ticks=start, ppid=ppid, pgid=sid, sid=sid, state="S", comm="x", cmdline="x", mark=mark
    )


@pytest.mark.parametrize(
    ("table", "found"),
    [
        pytest.param([seen(10, 1, 10, 100), seen(11, 10, 10, 101)], {10, 11}, id="whole"),
        pytest.param(
            [seen(11, 1, 10, 101), seen(12, 11, 12, 102)], {11, 12}, id="main is gone, a worker is left"
        ),
        pytest.param([seen(10, 1, 10, 500), seen(11, 10, 10, 501)], set(), id="the number is another's now"),
        pytest.param([seen(9, 1, 10, 50)], set(), id="older than main"),
        pytest.param([seen(11, 1, 10, 101, "other/01-a")], set(), id="another run's mark"),
        pytest.param(
            [seen(77, 1, 77, 300, "r/01-a"), seen(78, 77, 77, 301)], {77, 78}, id="left, but marked"
        ),
        pytest.param([seen(77, 1, 77, 300)], set(), id="a bystander"),
    ],
)
def test_who_belongs_to_a_process(table: list[ProcessSeen], found: set[int]) -> None:
    assert {p.pid for p in belonging(table, 10, 100, 10, mark="r/01-a")} == found


def test_a_mark_is_matched_by_its_parts() -> None:
    assert under("r1/01-a", "r1")
    assert under("r1/01-a", "r1/01-a")
    assert under("r1/01-a", "")
    assert not under("r1/01-a", "r1/01")
    assert not under("r11/01-a", "r1")
