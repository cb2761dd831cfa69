"""What is waited for, and what is not: memory on its way back, holders, limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.fake_gpus import MIB, FakeGpu, FakeNvml
from tests.hosts.slates import FakeClock, rig, slate_of
from tokgate.hosts.clean_slate import STALL_S, TELL_AFTER_S
from tokgate.hosts.connection import Host, connect
from tokgate.records import CleanSlate, ProcessSeen
from tokgate.rig.machine import HostSpec


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


def gpus_of(
    host: Host,
    gpu: FakeGpu,
    then: Callable[[float], None],
    wait_s: float = 120.0,
    table: tuple[ProcessSeen, ...] | None = None,
) -> tuple[float | None, float, list[str]]:
    """(allocated at the end, seconds waited, what was found about the GPU)."""
    clock = FakeClock(then)
    slate = slate_of(host, rig(1, wait_s), nvml=FakeNvml(gpu), clock=clock, table=table)
    return slate.gpus[0].allocated_mib, slate.waited_s, [f.what for f in slate.findings if "GPU 0" in f.what]


def test_memory_on_its_way_back_is_waited_for(host: Host) -> None:
    gpu = FakeGpu(used=4 * MIB)

    def then(now: float) -> None:
        gpu.used = max(0, gpu.used - MIB)

    assert gpus_of(host, gpu, then) == (0.0, 4.0, [])


def test_memory_that_comes_back_at_once_after_half_a_minute_is_waited_for(host: Host) -> None:
    gpu = FakeGpu(used=122_000 * MIB)

    def then(now: float) -> None:
        gpu.used = 0 if now >= 31 else gpu.used

    assert gpus_of(host, gpu, then, table=()) == (0.0, 31.0, [])


def test_memory_that_does_not_move_is_given_up_before_the_limit(host: Host) -> None:
    allocated, waited, found = gpus_of(host, FakeGpu(used=MIB), lambda now: None, table=())
    assert (allocated, waited) == (1.0, STALL_S)
    assert len(found) == 1


def test_memory_that_comes_back_in_jumps_is_waited_for(host: Host) -> None:
    gpu = FakeGpu(used=3000 * MIB)

    def then(now: float) -> None:
        # Each pause is just short of giving up.
        gpu.used = max(0, 3000 - 1000 * int(now // 40)) * MIB

    assert gpus_of(host, gpu, then, wait_s=300, table=()) == (0.0, 120.0, [])


def test_memory_that_grows_and_shrinks_is_not_on_its_way_back(host: Host) -> None:
    gpu = FakeGpu(used=100 * MIB)

    def then(now: float) -> None:
        gpu.used = (100 + int(now) % 7) * MIB

    _, waited, found = gpus_of(host, gpu, then, table=())
    assert waited == STALL_S
    assert len(found) == 1


def test_an_ending_holder_that_is_replaced_by_a_stranger_is_not_waited_for(host: Host) -> None:
    gpu = FakeGpu(used=100 * MIB)

    def then(now: float) -> None:
        if now == 5:
            gpu.processes.append((os.getpid(), 100 * MIB))

    _, waited, found = gpus_of(host, gpu, then)
    assert waited == 5
    assert f"pid {os.getpid()}" in found[0]


def test_the_rigs_limit_holds_even_while_memory_shrinks(host: Host) -> None:
    gpu = FakeGpu(used=1000 * MIB)

    def then(now: float) -> None:
        gpu.used -= MIB

    _, waited, found = gpus_of(host, gpu, then, wait_s=10, table=())
    assert waited == 10
    assert len(found) == 1


def test_a_living_stranger_is_not_waited_for(host: Host) -> None:
    gpu = FakeGpu(used=MIB, processes=[(os.getpid(), MIB)])
    _, waited, found = gpus_of(host, gpu, lambda now: None)
    assert waited == 0
    assert f"pid {os.getpid()}" in found[0]


def test_what_cannot_be_seen_is_not_waited_for(host: Host) -> None:
    _, waited, found = gpus_of(host, FakeGpu(memory_fails=3), lambda now: None)
    assert (waited, len(found)) == (0, 1)


def test_what_was_waited_for_in_vain_is_looked_at_once(host: Host) -> None:
    gpu = FakeGpu(used=122_000 * MIB)
    clock = FakeClock(lambda now: None)
    slate = slate_of(host, rig(1), nvml=FakeNvml(gpu), clock=clock, table=(), wait=False)
    assert (slate.waited_s, slate.clean, len(slate.findings)) == (0.0, False, 1)
    gpu.used = 0  # whoever held it has gone
    assert slate_of(host, rig(1), nvml=FakeNvml(gpu), clock=clock, table=(), wait=False).clean


def test_a_wait_is_told_once_when_it_takes_longer_than_a_stop_does(host: Host) -> None:
    told: list[CleanSlate] = []
    gpu = FakeGpu(used=122_000 * MIB)

    def back_after(seconds: float) -> Callable[[float], None]:
        def then(now: float) -> None:
            gpu.used = 0 if now >= seconds else 122_000 * MIB

        return then

    for seconds, often in ((TELL_AFTER_S, 0), (31.0, 1)):
        gpu.used = 122_000 * MIB
        clock = FakeClock(back_after(seconds))
        slate = slate_of(host, rig(1), nvml=FakeNvml(gpu), clock=clock, table=(), waiting=told.append)
        assert (slate.clean, len(told)) == (True, often)
    assert "122000 MiB are allocated" in told[0].findings[0].what
