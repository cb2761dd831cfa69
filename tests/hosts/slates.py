"""Looks at the machine as tests take them: with a clock of their own and nobody else's processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.hosts.fake_gpus import FakeNvml
from tokgate.hosts.clean_slate import look
from tokgate.hosts.connection import Host
from tokgate.hosts.lease import holder_of
from tokgate.hosts.processes import processes, under
from tokgate.records import CleanSlate, Finding, ProcessSeen
from tokgate.rig.machine import GpuSpec, ServerSpec
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.workload import TokenIdPrompts, WorkloadSpec

NOBODY: frozenset[tuple[int, int]] = frozenset()


def rig(gpus: int = 0, wait_s: float = 120.0) -> Rig:
    return Rig(
        name="test",
        gpus=GpuSpec(count=gpus, wait_s=wait_s),
        server=ServerSpec(python="python3", model_path="/model"),
        arms=(ArmSpec(name="baseline", kind="baseline"),),
        prompt_sets={"p": TokenIdPrompts(kind="token-ids", length=4, first_id=1, last_id=9)},
        workloads=(WorkloadSpec(name="single", prompts="p", output_tokens=4, repeats=1),),
    )


class FakeClock:
    """Time passes only by sleeping; `then` happens at each sleep."""

    def __init__(self, then: Callable[[float], None] = lambda now: None) -> None:
        self.now = 0.0
        self.then = then

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds
        self.then(self.now)


def slate_of(
    host: Host,
    wanted: Rig | None = None,
    *,
    port: int | None = None,
    ours: frozenset[tuple[int, int]] = NOBODY,
    notes: Sequence[Finding] = (),
    nvml: FakeNvml | None = None,
    clock: FakeClock | None = None,
    table: tuple[ProcessSeen, ...] | None = None,
    wait: bool = True,
    waiting: Callable[[CleanSlate], None] | None = None,
) -> CleanSlate:
    """Look, seeing of all marked processes only those of this test: others run beside it.

    `table`: what every look sees instead of this machine's processes and its lease, where many looks are made.
    """

    def read_table(host: Host) -> tuple[ProcessSeen, ...]:
        if table is not None:
            return table
        run = f"run-{os.getpid()}-{Path(host.spec.work_dir).parent.name}"
        return tuple(p for p in processes(host) if p.mark is None or under(p.mark, run))

    return look(
        host,
        wanted or rig(),
        when="before 01-baseline",
        port=port,
        ours=ours,
        notes=notes,
        wait=wait,
        waiting=waiting,
        nvml=nvml,
        clock=clock or FakeClock(),
        read_table=read_table,
        read_holder=holder_of if table is None else lambda host: None,
    )
