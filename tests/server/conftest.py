"""What the tests of this room share: a supervisor by hand, a bench with the stand-in server, here and over ssh."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.bench import Bench
from tests.server.hand import Hand, marked
from tests.sshd import Sshd, sshd
from tokgate.hosts.connection import connect
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec

__all__ = ["sshd"]

_counter = itertools.count()


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark of this test's own; what still carries it afterwards is a failure, and is ended."""
    own = f"test-{os.getpid()}-{time.monotonic_ns()}/{next(_counter):02}-baseline"
    yield own
    left = marked(own)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert left == []


@pytest.fixture
def hand(tmp_path: Path, mark: str) -> Iterator[Hand]:
    held = Hand(tmp_path, mark)
    yield held
    held.clean()


def bench_on(spec: HostSpec, mark: str, folder: Path) -> Iterator[Bench]:
    redactor = Redactor()
    bench = Bench(connect(spec, redactor=redactor), redactor, mark, folder)
    yield bench
    for running in bench.started:
        running.stop()


@pytest.fixture
def bench(tmp_path: Path, mark: str) -> Iterator[Bench]:
    """This machine."""
    spec = HostSpec(python=sys.executable, work_dir=str(tmp_path / "work"))
    yield from bench_on(spec, mark, tmp_path / "launch")


@pytest.fixture
def bench_over_ssh(tmp_path: Path, mark: str, request: pytest.FixtureRequest) -> Iterator[Bench]:
    server: Sshd = request.getfixturevalue("sshd")
    changes: dict[str, Any] = {"work_dir": str(tmp_path / "work"), "heartbeat_limit_s": 6.0}
    yield from bench_on(server.spec(python=sys.executable, **changes), mark, tmp_path / "launch")


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.sshd)])
def bench_anywhere(request: pytest.FixtureRequest) -> Bench:
    bench: Bench = request.getfixturevalue("bench" if request.param == "local" else "bench_over_ssh")
    return bench
