from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.sshd import Sshd
from tokgate.errors import LeaseFault
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.lease import holder_of, lease
from tokgate.hosts.scripts.lease import Lock, operate
from tokgate.rig.machine import HostSpec

# Takes the lease, says so, and holds it until its stdin ends.
HOLDER = """
import sys
from tokgate.errors import LeaseFault
from tokgate.hosts.connection import connect
from tokgate.hosts.lease import lease
from tokgate.rig.models import HostSpec
host = connect(HostSpec(python=sys.executable, work_dir=sys.argv[1]))
try:
    with lease(host, sys.argv[2]) as held:
        print('held', held.took_over, flush=True)
        sys.stdin.read()
except LeaseFault as fault:
    print('refused', fault.found, flush=True)
"""


def start(work_dir: Path, owner: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(work_dir), owner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(gate: subprocess.Popen[str]) -> str:
    assert gate.stdout is not None
    return gate.stdout.readline().strip()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


@pytest.fixture
def file(host: Host) -> Path:
    return Path(host.spec.work_dir) / "lease" / "lease.json"


def change(file: Path, **changes: Any) -> None:
    with Lock(file.parent / "lock"):
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_lease_is_held_while_the_block_runs(host: Host) -> None:
    assert holder_of(host) is None
    with lease(host, "run-1") as held:
        held.check()
        assert (held.took_over, held.lost) == (None, None)
        holder = holder_of(host)
        assert holder is not None
        assert (holder.owner, holder.pid, holder.ours) == ("run-1", os.getpid(), True)
    assert holder_of(host) is None


def test_it_is_released_after_a_failure(host: Host) -> None:
    with pytest.raises(RuntimeError), lease(host, "run-1"):
        raise RuntimeError
    assert holder_of(host) is None


def test_a_second_gate_is_told_who_holds_it_and_what_to_do(host: Host) -> None:
    with start(Path(host.spec.work_dir), "run-1") as first:
        assert said(first) == "held None"
        with pytest.raises(LeaseFault) as caught, lease(host, "run-2"):
            pass
        holder = holder_of(host)
        first.communicate("")
    assert caught.value.found.startswith("another gate is at work on local: run-1 has held it since 2")
    assert f"pid {first.pid} of " in caught.value.found
    assert "--wait-for-lease SECONDS" in caught.value.do
    assert f"end pid {first.pid}" not in caught.value.do, "it is at work"
    assert holder is not None
    assert not holder.ours
    with lease(host, "run-2") as held:
        assert held.took_over is None


def test_of_gates_that_race_for_it_exactly_one_wins(host: Host) -> None:
    """Also when a stale lease lies there that each of them could take over."""
    with start(Path(host.spec.work_dir), "dead") as dead:
        assert said(dead) == "held None"
        dead.kill()
    gates = [start(Path(host.spec.work_dir), f"run-{n}") for n in range(5)]
    answers = [said(gate) for gate in gates]
    for gate in gates:
        gate.communicate("")
    winners = [answer for answer in answers if answer.startswith("held")]
    assert winners == [f"held its owner, pid {dead.pid} on this machine, is gone"]
    assert all(answer.startswith(("held", "refused another gate")) for answer in answers)


def test_the_lease_of_a_killed_gate_is_taken_over_and_said_so(host: Host) -> None:
    with start(Path(host.spec.work_dir), "run-1") as first:
        assert said(first) == "held None"
        first.send_signal(signal.SIGKILL)
    with lease(host, "run-2") as held:
        assert held.took_over == f"its owner, pid {first.pid} on this machine, is gone"


def test_a_pid_given_to_another_process_holds_nothing(host: Host, file: Path) -> None:
    with lease(host, "run-1"):
        change(file, start_ticks=1)
        assert holder_of(host) is None
        with lease(host, "run-2") as held:
            assert held.took_over is not None


@pytest.mark.parametrize(
    ("changes", "stale"),
    [
        pytest.param({"limit_s": 1e9}, False, id="heard of within its limit"),
        pytest.param({"beat": -1e6}, True, id="not heard of for longer"),
        pytest.param({"host_boot": "another", "limit_s": 1e9}, False, id="the host has just been rebooted"),
        pytest.param(
            {"host_boot": "another", "limit_s": 0.001}, True, id="rebooted longer ago than the limit"
        ),
    ],
)
def test_an_owner_on_another_machine_is_judged_by_its_heartbeat(
    host: Host, file: Path, changes: dict[str, Any], stale: bool
) -> None:
    with lease(host, "run-1"):
        # Its pid lives here, too, but that says nothing about that machine.
        change(file, machine="elsewhere", where="me@elsewhere", **changes)
        if stale:
            with lease(host, "run-2") as held:
                assert held.took_over is not None
                assert "me@elsewhere has not been heard of for" in held.took_over
        else:
            with pytest.raises(LeaseFault, match="run-1 has held it"), lease(host, "run-2"):
                pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"beat": "x"}', '{"beat": 1, "host_boot": ""}'])
def test_a_file_that_makes_no_sense_is_taken_over_and_said_so(host: Host, file: Path, content: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(content)
    with lease(host, "run-1") as held:
        assert held.took_over is not None
        assert held.took_over.startswith("its file made no sense")


def test_the_heart_beats_and_notices_a_loss(host: Host, file: Path) -> None:
    quick = connect(host.spec.model_copy(update={"heartbeat_limit_s": 0.4}))
    with lease(quick, "run-1") as held:
        first = json.loads(file.read_text())["beat"]
        deadline = time.monotonic() + 15
        while json.loads(file.read_text())["beat"] == first:
            assert time.monotonic() < deadline
        change(file, token="another", owner="run-2", where="me@elsewhere")
        while held.lost is None:
            assert time.monotonic() < deadline
        with pytest.raises(LeaseFault, match=r"run-2 \(me@elsewhere\) has taken it over"):
            held.check()
    # What is another's by now is not released.
    assert json.loads(file.read_text())["owner"] == "run-2"


def test_other_users_may_take_it_over(host: Host, file: Path) -> None:
    with lease(host, "run-1"):
        assert file.parent.stat().st_mode & 0o7777 == 0o777
        assert file.parent.parent.stat().st_mode & 0o7777 == 0o1777
        # Who holds the lease starts servers, each with a folder there.
        assert (file.parent.parent / "launches").stat().st_mode & 0o7777 == 0o1777


@pytest.mark.sshd
def test_it_is_the_same_behind_ssh(sshd: Sshd, tmp_path: Path) -> None:
    host = connect(sshd.spec(python=sys.executable, work_dir=str(tmp_path / "work")))
    with start(tmp_path / "work", "run-1") as first:
        assert said(first) == "held None"
        with pytest.raises(LeaseFault, match="run-1 has held it"), lease(host, "run-2"):
            pass
        first.communicate("")
    with lease(host, "run-2"):
        holder = holder_of(host)
        assert holder is not None
        assert holder.ours


def test_a_stopped_gate_keeps_its_own_machine_however_long_it_is_silent(host: Host, file: Path) -> None:
    with start(Path(host.spec.work_dir), "run-1") as first:
        assert said(first) == "held None"
        first.send_signal(signal.SIGSTOP)
        try:
            os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WNOWAIT)
            change(file, beat=-1e6)
            with pytest.raises(LeaseFault) as caught, lease(host, "run-2"):
                pass
            holder = holder_of(host)
        finally:
            first.send_signal(signal.SIGCONT)
        first.communicate("")
    assert holder is not None
    assert holder.stopped
    assert f"it is stopped, and lives: pid {first.pid}" in caught.value.found
    assert f"kill -CONT {first.pid} on " in caught.value.do


def test_a_gate_on_the_same_machine_as_a_silent_owner_looks_for_it_there(tmp_path: Path) -> None:
    """On the host, which is another machine, silence is all that is known; where the owner runs, more is."""
    folder = tmp_path / "lease"
    claim = {
        "owner": "run-1",
        "token": "t",
        "machine": "theirs",
        "pid": 7,
        "start_ticks": 70,
        "where": "me@box",
        "limit_s": 5.0,
    }
    take = {"folder": str(folder), "operation": "take", "asker": "theirs"}
    assert operate({**take, "lease": claim}, folder)["held"] is None
    file = folder / "lease.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "beat": -1e6}))
    second = {**claim, "owner": "run-2", "pid": 8}
    for answer in (
        operate({**take, "lease": second}, folder),
        operate({**take, "operation": "read"}, folder),
        operate({**take, "lease": second, "gone": [7, 71]}, folder),
    ):
        assert (answer["held"]["owner"], answer["ask"]) == ("run-1", True)
    assert "ask" not in operate({**take, "asker": "another", "operation": "read"}, folder)
    took = operate({**take, "lease": second, "gone": [7, 70]}, folder)
    assert took["held"] is None
    assert "whether its pid 7 lives there cannot be seen from here" in took["took_over"]


def test_a_gate_that_was_stopped_asks_before_it_goes_on(host: Host, file: Path) -> None:
    """Its own heartbeat may come later than its next server."""
    with lease(host, "run-1") as held:
        change(file, token="another", owner="run-2", where="me@elsewhere")
        held.check()
        held.heard -= 1e6
        with pytest.raises(LeaseFault, match=r"run-2 \(me@elsewhere\) has taken it over"):
            held.check()


def marked(owner: str) -> subprocess.Popen[bytes]:
    """Start something that a run has started."""
    environment = {"TOKGATE_MARK": f"{owner}/01-baseline/ab12"}
    return subprocess.Popen(["/bin/sleep", "600"], env=environment, start_new_session=True)


def test_an_unheard_owner_elsewhere_is_not_dead_while_what_it_started_runs_here(
    host: Host, file: Path
) -> None:
    with lease(host, "run-1"):
        change(file, machine="elsewhere", where="me@elsewhere", beat=-1e6)
        with marked("run-1") as server:
            with (
                pytest.raises(LeaseFault, match=rf"still runs there: pid {server.pid}"),
                lease(host, "run-2"),
            ):
                pass
            server.kill()
        with lease(host, "run-2") as held:
            assert held.took_over is not None
