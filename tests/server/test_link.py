"""The gate's end of a supervisor, over pipes that greet, break and come back."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.server.bench import Bench
from tests.server.hand import lives, marked, wait_for
from tests.sshd import Sshd
from tokgate.server import supervisor
from tokgate.server.events import Exit, State
from tokgate.server.link import Link


def order(folder: Path, mark: str, line: str, **changes: Any) -> dict[str, Any]:
    return {
        "line": line,
        "environment": {"PATH": os.defpath, "TOKGATE_MARK": mark},
        "log": str(folder / "server.log"),
        "cwd": str(folder),
        "mark": mark,
        "folder": str(folder),
        "stop_timeout_s": 5,
        "time_limit_s": 60,
        "gate": None,
        "heartbeat_limit_s": None,
        **changes,
    }


SUPERVISOR = [sys.executable, supervisor.__file__]


def test_it_asks_tells_and_stops(tmp_path: Path, mark: str) -> None:
    link = Link(SUPERVISOR, order(tmp_path, mark, "echo 12345; exec sleep 300"))
    started = link.first_answer(timeout_s=20)
    assert started is not None
    assert lives(started["pid"])
    wait_for((tmp_path / "server.log").read_text)
    assert link.state(timeout_s=20) == State(alive=True, log_bytes=6)
    assert link.alive
    report = link.stop(timeout_s=20)
    assert report is not None
    assert report["reason"] == "asked"
    assert (link.alive, link.lost, link.ended_alone) == (False, False, None)
    link.close()


def test_an_end_is_heard_of_without_asking(tmp_path: Path, mark: str) -> None:
    link = Link(SUPERVISOR, order(tmp_path, mark, "exit 7"))
    wait_for(lambda: not link.alive)
    assert link.ended_alone == Exit(7, None)
    assert link.state(timeout_s=20) == State(alive=False, log_bytes=0)
    link.close()
    link.close()


def test_letting_go_without_a_stop_ends_the_server_at_once(tmp_path: Path, mark: str) -> None:
    link = Link(SUPERVISOR, order(tmp_path, mark, "exec sleep 300", stop_timeout_s=300))
    started = link.first_answer(timeout_s=20)
    assert started is not None
    link.close()
    assert not lives(started["pid"])


def test_a_login_greeting_is_no_answer(tmp_path: Path, mark: str) -> None:
    greeting = "echo 'Welcome to gpu7 {'; echo '[1]'; exec \"$@\""
    link = Link(["/bin/sh", "-c", greeting, "sh", *SUPERVISOR], order(tmp_path, mark, "exec sleep 300"))
    started = link.first_answer(timeout_s=20)
    assert started is not None
    assert started["event"] == "started"
    link.close()


def test_a_supervisor_that_cannot_start_is_quoted(tmp_path: Path, mark: str) -> None:
    link = Link(["/bin/sh", "-c", "echo no such luck >&2; exit 3"], order(tmp_path, mark, "true"))
    assert link.first_answer(timeout_s=20) is None
    assert link.said() == "no such luck"
    assert wait_for(link.returncode) == 3
    assert link.lost
    assert not link.alive
    link.close()


def test_a_heartbeat_keeps_the_server_of_a_quiet_gate(tmp_path: Path, mark: str) -> None:
    link = Link(
        SUPERVISOR, order(tmp_path, mark, "exec sleep 300", heartbeat_limit_s=1.5), heartbeat_limit_s=1.5
    )
    assert link.first_answer(timeout_s=20) is not None
    # Nothing is asked meanwhile, for twice the limit.
    began = time.monotonic()
    wait_for(lambda: time.monotonic() - began > 3)
    assert link.alive
    assert link.stopped_because is None
    link.close()


@pytest.mark.sshd
def test_a_dropped_connection_costs_the_tunnel_and_not_the_server(bench_over_ssh: Bench, sshd: Sshd) -> None:
    running = bench_over_ssh.start()
    sshd.hang_up()
    wait_for(lambda: not running.alive())
    assert "the ssh tunnel ended" in (running.why_gone() or "")
    launches = Path(bench_over_ssh.host.spec.work_dir) / "launches"
    # The gate comes back by connections of its own, and the server lives on.
    wait_for(lambda: list(launches.glob("*/heartbeat")))
    assert lives(running.run.pid, running.run.start_ticks)
    stop = running.stop()
    assert (stop.asked, stop.killed, stop.survivors) == ("term", False, ())
    assert stop.note is None
    assert marked(bench_over_ssh.mark) == []
    running.collect(bench_over_ssh.folder)
    assert "fired up" in bench_over_ssh.log
