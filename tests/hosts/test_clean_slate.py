"""Processes, ports and notes of a machine that is, or is not, clean."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.fake_gpus import MIB, FakeGpu, FakeNvml, row, write_nvidia_smi
from tests.hosts.slates import NOBODY, FakeClock, rig, slate_of
from tests.sshd import Sshd
from tokgate.hosts.clean_slate import look
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.lease import lease
from tokgate.hosts.processes import processes
from tokgate.records import CleanSlate, Finding, ProcessSeen
from tokgate.rig.machine import HostSpec


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    return f"run-{os.getpid()}-{tmp_path.name}"


@pytest.fixture
def child(run_id: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that an earlier gate has left behind."""
    environment = {**os.environ, "TOKGATE_MARK": f"{run_id}/02-eagle3"}
    with subprocess.Popen(["sleep", "1000"], env=environment) as process:
        yield process
        process.kill()


def without_notes(slate: CleanSlate) -> list[Finding]:
    # Somebody's own SGLang on this machine is a note.
    return [f for f in slate.findings if f.severity != "note"]


def test_a_leftover_is_named_and_left_alone(host: Host, child: subprocess.Popen[bytes], run_id: str) -> None:
    slate = slate_of(host, rig(wait_s=1))
    assert (slate.when, slate.host, slate.clean) == ("before 01-baseline", "local", False)
    assert child.pid in {p.pid for p in slate.leftovers}
    (finding,) = without_notes(slate)
    assert finding.severity == "unclean"
    assert f"1 processes of the run {run_id}/02-eagle3 are still there: pid {child.pid}" in finding.what
    assert f"pid {os.getpid()} of " in finding.do, "who started it is alive: it is somebody's running gate"
    assert "kill" not in finding.do
    assert "wait" in finding.do
    assert child.poll() is None


def test_it_is_waited_for_while_it_may_still_end(
    host: Host, child: subprocess.Popen[bytes], run_id: str
) -> None:
    def then(now: float) -> None:
        if now == 3:
            child.kill()
            child.wait()

    slate = slate_of(host, clock=FakeClock(then))
    assert without_notes(slate) == []
    assert slate.waited_s >= 3
    assert f"waited for 1 process of the run {run_id}, gone since" in [
        finding.what for finding in slate.findings
    ]


def test_what_belongs_there_is_no_leftover(host: Host, child: subprocess.Popen[bytes], run_id: str) -> None:
    start = next(p.start_ticks for p in processes(host) if p.pid == child.pid)
    with lease(host, run_id):
        slate = slate_of(host, rig(wait_s=1), ours=frozenset({(child.pid, start)}))
        assert without_notes(slate) == []
        # The same number at another time is another process; and the gate's own run can leave leftovers.
        slate = slate_of(host, rig(wait_s=1), ours=frozenset({(child.pid, 1)}))
        assert len(without_notes(slate)) == 1


HOLD = """
import sys
from tokgate.hosts.connection import connect
from tokgate.hosts.lease import lease
from tokgate.rig.models import HostSpec
with lease(connect(HostSpec(python=sys.executable, work_dir=sys.argv[1])), sys.argv[2]):
    print(flush=True)
    sys.stdin.read()
"""


def test_the_processes_of_another_gate_at_work_are_its_own(
    host: Host, child: subprocess.Popen[bytes], run_id: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, host.spec.work_dir, run_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as gate:
        assert gate.stdout is not None
        gate.stdout.readline()
        slate = slate_of(host, rig(wait_s=1))
        gate.kill()
    assert child.pid not in {p.pid for p in slate.leftovers}
    (finding,) = without_notes(slate)
    assert finding.severity == "unclean"
    assert f"another gate is at work here: {run_id}, pid {gate.pid}" in finding.what
    # Now that gate is dead, and what it started is left over.
    slate = slate_of(host, rig(wait_s=1))
    assert child.pid in {p.pid for p in slate.leftovers}


def test_a_taken_port_names_its_holder(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        slate = slate_of(host, port=port)
    (finding,) = [f for f in slate.findings if f"port {port}" in f.what]
    assert finding.severity == "unclean"
    assert f"taken by pid {os.getpid()} of " in finding.what
    assert slate.port == port
    slate = slate_of(host, port=port)
    assert not [f for f in slate.findings if f"port {port}" in f.what]


def test_a_port_that_is_only_bound_is_taken_as_well(host: Host) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        slate = slate_of(host, port=port)
    assert [f.severity for f in slate.findings if f"port {port} is taken" in f.what] == ["unclean"]


def test_a_listener_on_ipv6_alone_takes_the_port(host: Host) -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listener:
        port = listener.getsockname()[1]
        slate = slate_of(host, port=port)
    assert [f for f in slate.findings if f"port {port} is taken by pid {os.getpid()}" in f.what]


@pytest.mark.parametrize(("gpus", "noted"), [(0, True), (1, False)])
def test_a_bystander_is_a_note_on_a_cpu_rig_and_never_touched(
    host: Host, gpus: int, noted: bool, tmp_path: Path
) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "TOKGATE_MARK"}
    argv = ["sglang::scheduler_TP0", "1000"]
    with subprocess.Popen(argv, executable="/bin/sleep", env=environment) as bystander:
        slate = slate_of(host, rig(gpus), nvml=FakeNvml(FakeGpu()))
        assert bystander.poll() is None
        bystander.kill()
    found = [f for f in slate.findings if f"pid {bystander.pid} " in f.what]
    assert [f.severity for f in found] == (["note"] if noted else [])


def test_a_command_line_that_only_mentions_sglang_is_no_bystander(host: Host) -> None:
    argv = [sys.executable, "-c", "input()", "--rig", "sglang-cpu", "/logs/sglang.log"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as other:
        slate = slate_of(host)
        other.communicate(b"\n")
    assert not [f for f in slate.findings if f"pid {other.pid} " in f.what]


def test_notes_are_carried_along_and_leave_the_slate_clean(host: Host) -> None:
    note = Finding(severity="note", what="a sitecustomize", do="look at it")
    slate = slate_of(host, rig(1), notes=[note], nvml=FakeNvml(FakeGpu()))
    assert note in slate.findings
    assert slate.clean


def test_a_look_reads_the_process_table_once_and_says_what_it_took(host: Host) -> None:
    tables = []

    def read_table(host: Host) -> tuple[ProcessSeen, ...]:
        tables.append(processes(host))
        return tuple(p for p in tables[-1] if p.mark is None)

    slate = look(
        host,
        rig(1, wait_s=1),
        when="before 01-baseline",
        port=None,
        ours=NOBODY,
        nvml=FakeNvml(FakeGpu(used=MIB, processes=[(os.getpid(), MIB)])),
        clock=time,
        read_table=read_table,
    )
    assert len(tables) == 1
    assert slate.holders[0].pid == os.getpid()
    assert slate.look_s is not None
    assert 0 < slate.look_s < 30


def test_a_leftover_of_many_processes_is_named_in_short_with_every_pid(host: Host, run_id: str) -> None:
    def read_table(host: Host) -> tuple[ProcessSeen, ...]:
        return tuple(
            ProcessSeen(
                pid=pid, start_ticks=1, ppid=1, pgid=1, sid=1, state="S", comm="x", cmdline="x", mark=run_id
            )
            for pid in range(100, 111)
        )

    slate = look(
        host, rig(wait_s=1), when="x", port=None, ours=NOBODY, clock=FakeClock(), read_table=read_table
    )
    (finding,) = [f for f in slate.findings if run_id in f.what]
    assert finding.what.endswith("pid 103 of an unknown user (x); and 7 more")
    assert finding.do.endswith("kill -KILL 100 101 102 103 104 105 106 107 108 109 110")


@pytest.mark.sshd
def test_a_host_that_cannot_be_asked_is_not_clean() -> None:
    nowhere = connect(HostSpec(testinfra="ssh://127.0.0.1:1"))
    slate = slate_of(nowhere)
    assert not slate.clean
    assert [f.severity for f in slate.findings] == ["unknown"]


@pytest.mark.sshd
def test_it_is_the_same_behind_ssh(
    sshd: Sshd, child: subprocess.Popen[bytes], run_id: str, tmp_path: Path
) -> None:
    host = connect(sshd.spec(python=sys.executable, work_dir=str(tmp_path / "work")))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        slate = slate_of(host, rig(wait_s=1), port=port)
    assert child.pid in {p.pid for p in slate.leftovers}
    assert [f for f in slate.findings if f"port {port} is taken by pid {os.getpid()}" in f.what]


@pytest.mark.sshd
def test_gpus_behind_ssh_are_asked_of_that_hosts_own_nvidia_smi(sshd: Sshd, tmp_path: Path) -> None:
    write_nvidia_smi(tmp_path / "bin", gpus=row(0) + row(1, 400))
    spec = sshd.spec(python=sys.executable, work_dir=str(tmp_path / "work"), path=(str(tmp_path / "bin"),))
    # An NVML of this machine says nothing about that one.
    slate = slate_of(connect(spec), rig(2, wait_s=1), nvml=FakeNvml(FakeGpu(), FakeGpu()))
    assert [(g.allocated_mib, g.source) for g in slate.gpus] == [(0.0, "nvidia-smi"), (400.0, "nvidia-smi")]
    (finding,) = without_notes(slate)
    assert "GPU 1 (NVIDIA H200): 400 MiB are allocated, held by no known process" in finding.what


def _seen(pid: int, ppid: int, sid: int, comm: str, mark: str | None = None) -> ProcessSeen:
    return ProcessSeen(
        pid=pid, start_ticks=pid, ppid=ppid, pgid=sid, sid=sid, state="S", comm=comm, cmdline=comm, mark=mark
    )


@pytest.mark.parametrize(
    ("above", "kills"),
    [
        ((_seen(20, 1, 20, "python"),), False),
        ((_seen(20, 1, 20, "systemd"),), True),
        ((), False),
    ],
    ids=["its supervisor lives", "an init has taken it in", "its parent cannot be seen"],
)
def test_only_what_nobody_holds_any_more_may_be_killed(
    host: Host, run_id: str, above: tuple[ProcessSeen, ...], kills: bool
) -> None:
    """A server whose scheduler has lost its mark: the session tells that it is the server's all the same."""
    server = (
        _seen(30, 20, 30, "sglang", run_id),
        _seen(31, 30, 30, "sglang::sched"),
        _seen(32, 31, 30, "x", run_id),
    )
    slate = slate_of(host, rig(wait_s=1), table=(*above, *server))
    (finding,) = [f for f in slate.findings if run_id in f.what]
    assert ("kill -KILL 30 32" in finding.do) is kills
    assert ("wait" in finding.do) is not kills
