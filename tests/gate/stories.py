"""Gate sessions that several tests ask about. Each story is played once, up to two at a time."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .checkout import CONTROL, RIG, Checkout, GateRun
from .machine import machine, marked, wait_for

WORKER = Path(__file__).with_name("standin") / "worker.py"
# One workload on one launch of the control arm: the smallest session that measures anything.
SMALLEST = ("-k", f"test_decode_throughput and {CONTROL} and single")
AGAINST_BASELINE = ("-k", f"test_stored_baseline and {CONTROL} and single")
ENDLESS = "workloads.single.repeats=500"


class OpenCheckout(Protocol):
    def __call__(
        self, arms: Mapping[str, str], *, pair: bool = ...
    ) -> contextlib.AbstractContextManager[Checkout]: ...


@contextlib.contextmanager
def open_checkout(root: Path, arms: Mapping[str, str], *, pair: bool = False) -> Iterator[Checkout]:
    with machine() as own:
        yield Checkout(root, own, arms, pair=pair)


@dataclass(frozen=True)
class Green:
    fresh: GateRun
    update: tuple[int, str]  # exit code and output of `tokgate baseline update`
    append: tuple[int, str]  # the same of the second session, before anything becomes slower
    again: GateRun  # with the baseline just stored, and under xdist
    report: GateRun  # `tokgate report` of the second run
    compared: tuple[int, str]  # `pytest-benchmark compare` of both
    slower: GateRun  # every step of the server takes longer, and nobody told; restarts may confirm it
    slower_again: GateRun  # `tokgate report` of it
    faster: GateRun  # the other way, with --report-dir and --benchmark-disable
    servers_fresh: int  # starts stamped until then
    servers_again: int


def green(opened: OpenCheckout) -> Green:
    with opened({"eagle3": ""}, pair=True) as checkout:
        fresh = checkout.gate()
        servers_fresh = len(checkout.servers())
        update = checkout.run("tokgate", "baseline", "update", str(fresh.folder), "--why", "first")
        again = checkout.gate("-n", "2")
        servers_again = len(checkout.servers()) - servers_fresh
        report = checkout.judged_again(again)
        # One session says little of how far sessions differ: no loss is called against it alone.
        append = checkout.run("tokgate", "baseline", "update", str(again.folder), "--append", "--why", "more")
        files = [str(run.folder / "benchmark.json") for run in (fresh, again)]
        compared = checkout.run("pytest-benchmark", "compare", *files)
        checkout.pace.write_text("1.25")
        slower = checkout.gate("--rig-set", "sampling.gpu_time_s=120", selection=AGAINST_BASELINE)
        slower_again = checkout.judged_again(slower)
        checkout.pace.write_text("0.8")
        elsewhere = checkout.root / "elsewhere"
        program = checkout.start_gate(
            "--report-dir", str(elsewhere), "--benchmark-disable", selection=AGAINST_BASELINE
        )
        faster = checkout.finished(program, latest=elsewhere / "latest")
        return Green(
            fresh,
            update,
            append,
            again,
            report,
            compared,
            slower,
            slower_again,
            faster,
            servers_fresh,
            servers_again,
        )


def failing(opened: OpenCheckout) -> tuple[GateRun, GateRun]:
    """Servers that go wrong while they are measured, and servers that do not come up; judged, and judged again."""
    faults = {
        "dies": "die:3",
        "hangs": "hang:3",
        "refuses": "refuse:3",
        "cuts": "cut:3",
        "warmup": "cut:1",
        "reuses": "reuse",
        "drops": "drop-variable:NCCL_PROTO",
        "mute": "write-nothing",
        "silent": "fall-silent",
        "memory": "run-out-of-memory",
    }
    with opened(faults) as checkout:
        run = checkout.gate("--rig-set", "server.silence_timeout_s=4")
        return run, checkout.judged_again(run)


def no_good(opened: OpenCheckout) -> GateRun:
    """Speculation that works and is no good; and servers that are fine, but do not want to go."""
    faults = {
        "useless": "accept-nothing",
        "slow": "slow:3",
        "garbles": "garble",
        "stubborn": "ignore-term",
        "orphan": "leave-a-child",
    }
    with opened(faults) as checkout:
        return checkout.gate("--rig-set", "server.stop_timeout_s=1.5")


def refused(opened: OpenCheckout) -> dict[str, GateRun]:
    """What is wrong with the whole rig, or with the machine, before a server can start."""
    with opened({"eagle3": ""}) as checkout:
        (checkout.root / "a-file").touch()
        runs = {
            name: checkout.gate("--rig-set", setting, selection=SMALLEST)
            for name, setting in (
                ("no-python", f"server.python={checkout.root}/no/such/python"),
                ("no-module", "server.module=standin.no_such_module"),
                ("no-model", f"server.model_path={checkout.root}/no-such-model"),
                ("not-writable", f"host.work_dir={checkout.root}/a-file/work"),
            )
        }
        with checkout.taken_port() as port:
            runs["port-taken"] = checkout.gate(
                *("--rig-set", "server.port=as-written", "--rig-set", f"server.args.port={port}"),
                selection=SMALLEST,
            )
        leftover = checkout.machine.start(
            [sys.executable, "-S", str(WORKER), "sglang::scheduler", "stays"],
            cwd=checkout.root,
            env={"TOKGATE_MARK": "20200101T000000-standin/01-baseline"},
            stdout=-1,
        )
        runs["leftover"] = checkout.gate(selection=SMALLEST)
        assert leftover.lives, "the gate has signalled a process that is not its own"
        return runs


def mark_of(run: Path) -> str:
    """Return the mark of a run's first server."""
    launch = json.loads((run / "launches" / CONTROL / "launch.json").read_text())
    return str(launch["server"]["mark"])


@dataclass(frozen=True)
class Killed:
    second: GateRun  # a gate beside the first, on the same host
    first: str  # run id of the first
    alive_before: dict[int, str]  # the first one's processes just before it was killed
    gone_after_s: float
    bystander_lives: bool
    third: GateRun  # a gate after it, at another endpoint
    folders: tuple[
        list[str], list[str]
    ]  # of launches in host.work_dir, when the first was dead and after the third


def killed(opened: OpenCheckout) -> Killed:
    with opened({"eagle3": ""}) as checkout:
        bystander = checkout.machine.start(
            [sys.executable, "-S", str(WORKER), "sglang::scheduler", "stays"],
            cwd=checkout.root,
            stdout=-1,
        )
        gate = checkout.start_gate("--rig-set", ENDLESS)
        first = checkout.wait_until_measuring()
        mark = mark_of(first)
        second = checkout.gate(selection=SMALLEST)
        before = marked(mark)
        gate.signal(signal.SIGKILL)
        at = time.monotonic()
        wait_for(lambda: not marked(mark))
        gone_after_s = time.monotonic() - at
        launches = checkout.root / "work" / "launches"
        left = [path.name for path in launches.iterdir()]
        third = checkout.gate("--rig-set", "workloads.single.endpoint=completions", selection=SMALLEST)
        folders = left, [path.name for path in launches.iterdir()]
        return Killed(second, first.name, before, gone_after_s, bystander.lives, third, folders)


@dataclass(frozen=True)
class Interrupted:
    run: GateRun
    left: dict[int, str]


def interrupted(opened: OpenCheckout) -> dict[str, Interrupted]:
    told = {}
    with opened({"eagle3": ""}) as checkout:
        for number in (signal.SIGINT, signal.SIGTERM):
            gate = checkout.start_gate("--rig-set", ENDLESS)
            mark = mark_of(checkout.wait_until_measuring())
            gate.signal(number)
            run = checkout.finished(gate)
            told[number.name] = Interrupted(run, marked(mark))
    return told


@dataclass(frozen=True)
class Usage:
    refused: dict[str, tuple[int, str]]  # exit code and output
    empty: GateRun
    servers: int
    launch_folders: int


def usage(opened: OpenCheckout) -> Usage:
    with opened({"eagle3": ""}) as checkout:
        rig = ("--rig", RIG)
        stored = checkout.root / "baselines" / RIG
        stored.mkdir(parents=True)
        refused = {
            "unknown-rig": checkout.run("pytest", "perf_tests", "--rig", "standing"),
            "bad-override": checkout.run(
                "pytest", "perf_tests", *rig, "--rig-set", "server.start_timeot_s=2"
            ),
            "no-run": checkout.run("pytest", "perf_tests", "--rejudge", "perf_tests"),
        }
        (stored / "0123456789ab.json").write_text('{"schema_number": 1')
        refused["corrupt-baseline"] = checkout.run("pytest", "perf_tests", *rig)
        (stored / "0123456789ab.json").unlink()
        empty = checkout.gate(selection=("-k", "no_such_promise"))
        folders = list(checkout.root.glob("reports/*/launches"))
        return Usage(refused, empty, len(checkout.servers()), len(folders))


STORIES: tuple[Callable[[OpenCheckout], object], ...] = (
    green,
    failing,
    no_good,
    refused,
    killed,
    interrupted,
    usage,
)
