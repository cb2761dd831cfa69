"""The program that looks after a gate's lease on the host: what it takes away, and what it keeps alive."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.hosts.test_lease import change, file, host, marked
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.lease import lease
from tokgate.hosts.undertaker import Undertaker

__all__ = ("file", "host")


def wait_until(gone: Path) -> None:
    deadline = time.monotonic() + 20
    while gone.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_lease_of_a_dead_gate_is_taken_away_by_its_undertaker(host: Host, file: Path) -> None:
    with lease(host, "run-1") as held:
        undertaker = Undertaker(host, held)
        assert not undertaker.broke()
        change(file, start_ticks=1)  # its pid is another process by now
        undertaker.close()
        wait_until(file)


def test_an_undertaker_keeps_the_lease_of_a_gate_that_lives_and_says_nothing(host: Host, file: Path) -> None:
    """As of a gate elsewhere that is stopped: its own heartbeats do not come."""
    quick = connect(host.spec.model_copy(update={"heartbeat_limit_s": 0.4}))
    with lease(host, "run-1") as held:
        undertaker = Undertaker(quick, held)
        change(file, machine="elsewhere", limit_s=1e9, beat=-20.0)
        deadline = time.monotonic() + 20
        while json.loads(file.read_text())["beat"] < 0:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    undertaker.close()


def test_nor_before_what_it_had_started_is_gone(host: Host, file: Path) -> None:
    with lease(host, "run-9") as held, marked("run-9") as server:
        undertaker = Undertaker(host, held)
        change(file, start_ticks=1)
        undertaker._shut()
        with pytest.raises(subprocess.TimeoutExpired):
            undertaker._process.wait(2)
        assert file.exists()
        server.kill()
        server.wait()
        wait_until(file)
        undertaker.close()


def test_a_living_gates_lease_is_left_alone_however_its_connection_ends(host: Host, file: Path) -> None:
    with lease(host, "run-1") as held:
        undertaker = Undertaker(host, held)
        undertaker._process.kill()
        undertaker._process.wait()
        assert undertaker.broke()
        undertaker.again()
        assert not undertaker.broke()
        assert file.exists()
    assert not file.exists()
    assert undertaker._process.wait(20) == 0, "the lease is released, so it has nothing to do"
    undertaker.close()
