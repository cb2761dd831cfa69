"""What a progress display costs the client: the lag of its stamps with and without one.

    python benchmarks/progress_cost.py [--streams 8] [--rate 88] [--seconds 8] [--repeats 5]

A null server sends events on time, each with its send time on the same clock, so the lag of every stamp is exact. Four
ways of showing progress, one after the other within a repeat, so that a busy machine disturbs all alike:

- none;
- lines: what a log gets; the sign of life is written every half second here, every half minute in a gate;
- beside: the live display as a gate has it, a program of its own on a pseudo-terminal that draws twice a second;
- inside: what the gate does not do: rich draws the same lines four times a second in a thread of the measuring process.

An event is told before each batch, as a gate does, never inside one. CPU an event is of the client's thread; "others" is
what the other threads of its process took in the window, of which Python's lock keeps the client waiting. That column
and the one before it hold on a busy machine too; lags there are the machine's.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.live import Live

from tokgate.client.exchange import Target
from tokgate.client.headroom import lags_ms, null_requests, null_server
from tokgate.client.stream import run_batch
from tokgate.fixtures.progress_display import Display, Nothing
from tokgate.fixtures.progress_live import LiveScreen
from tokgate.fixtures.progress_plain import PlainLines
from tokgate.records.progress import (
    PlanMade,
    PlannedLaunch,
    ProgressEvent,
    SessionPlan,
    Span,
    Stage,
    StageBegan,
    StartTaken,
)
from tokgate.report.progress_screen import region
from tokgate.report.progress_state import Standing

LAUNCH = "02-eagle3-2step"


@dataclass(frozen=True)
class Figures:
    p50_ms: float
    p99_ms: float
    p999_ms: float
    most_ms: float
    cpu_us: float  # an event
    beside_ms: (
        float  # a second of the window: what other threads of the measuring process took, its lock held
    )
    told_us: float  # an event told to the display, before the window
    late_p99_ms: float  # of the null server itself


class Nowhere:
    width = 80

    def write(self, rows: list[str]) -> None:
        """Take lines that stay; none come while a batch runs."""


class Inside:
    """The display that was not built: rich's own thread draws in this process."""

    def __init__(self, fd: int) -> None:
        self._file = os.fdopen(os.dup(fd), "w", encoding="utf-8")
        self._standing = Standing(time.monotonic)
        console = Console(file=self._file, force_terminal=True, width=80)
        self._live = Live(
            get_renderable=lambda: region(self._standing.view, time.monotonic(), width=79),
            console=console,
            refresh_per_second=4,
            transient=True,
        )
        self._live.start()

    def hear(self, event: ProgressEvent, /) -> None:
        self._standing.hear(event)

    def hide(self) -> None: ...

    def close(self) -> None:
        self._live.stop()
        self._file.close()


@contextlib.contextmanager
def terminal() -> Iterator[int]:
    """Yield a pseudo-terminal whose other end somebody reads."""
    ours, theirs = os.openpty()
    reader = subprocess.Popen(["cat"], stdin=ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(ours)
    try:
        yield theirs
    finally:
        os.close(theirs)
        reader.wait(10)


@contextlib.contextmanager
def shown(make: Callable[[int], Display]) -> Iterator[Display]:
    with terminal() as fd:
        display = make(fd)
        try:
            display.hear(PlanMade(plan=plan()))
            yield display
        finally:
            display.close()


def plan() -> SessionPlan:
    span = Span(low=60.0, likely=70.0, high=90.0)
    return SessionPlan(
        rig="benchmark",
        simulated=False,
        gpus=8,
        launches=(PlannedLaunch(launch=LAUNCH, arm="eagle3-2step", seconds=span, taking_s=60.0),),
        seconds=span,
        gpu_seconds=span,
        basis="benchmark",
    )


WAYS: dict[str, Callable[[int], Display]] = {
    "none": lambda _: Nothing(),
    "lines": lambda fd: PlainLines(Nowhere(), os.dup(fd), alive_every_s=0.5),
    "beside": lambda fd: LiveScreen(Nowhere(), os.dup(fd), colour=True),
    "inside": Inside,
}


def measured(way: str, options: argparse.Namespace) -> Figures:
    tokens = max(2, round(options.rate * options.seconds))
    arguments = ("--rate", str(options.rate), "--pattern", options.pattern)
    with shown(WAYS[way]) as display, null_server(*arguments) as server:
        began = time.thread_time()
        display.hear(StageBegan(stage=Stage.MEASURING, launch=LAUNCH, workload="single", generations=64))
        display.hear(
            StartTaken(
                stage=Stage.MEASURING,
                launch=LAUNCH,
                workload="single",
                generations=8,
                of=64,
                streams=options.streams,
                tok_s=options.rate,
                accept_length=1.86,
            )
        )
        told = (time.thread_time() - began) / 2
        time.sleep(1.0)  # the display is up, as it is long before a gate measures
        gc.collect()
        whole, own, clock = time.process_time(), time.thread_time(), time.monotonic()
        outcome = run_batch(
            Target("127.0.0.1", server.port),
            null_requests(options.streams, tokens),
            timeout_s=options.seconds * 3 + 30,
        )
        others = time.process_time() - whole - (time.thread_time() - own)
        wall = time.monotonic() - clock
        late = float(server.finish()["late_p99_ms"])
    lags = lags_ms(outcome)
    if len(lags) != options.streams * tokens:
        sys.exit(f"{way}: {len(lags)} of {options.streams * tokens} events came")
    return Figures(
        p50_ms=lags[len(lags) // 2],
        p99_ms=lags[int(len(lags) * 0.99)],
        p999_ms=lags[int(len(lags) * 0.999)],
        most_ms=lags[-1],
        cpu_us=outcome.load.cpu_s / len(lags) * 1e6,
        beside_ms=others / wall * 1e3,
        told_us=told * 1e6,
        late_p99_ms=late,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--rate", type=float, default=88.0, help="events a second and stream")
    parser.add_argument("--pattern", choices=["even", "burst"], default="even")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    load = Path("/proc/loadavg").read_text("ascii").split()[0]
    print(
        f"{options.streams} streams x {options.rate:g} events/s, {options.pattern}; median of {options.repeats} runs of "
        f"{options.seconds:g} s; {os.cpu_count()} cores; load average at the start {load}\n"
    )
    found: dict[str, list[Figures]] = defaultdict(list)
    for _ in range(options.repeats):
        for way in WAYS:
            found[way].append(measured(way, options))
    print(
        "| display | lag p50, ms | p99 | p99.9 | most | CPU an event, µs | others, ms/s | told, µs | server late p99, ms |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for way, runs in found.items():
        p50, p99, p999, most, cpu, others, told, late = (
            median(getattr(run, column) for run in runs)
            for column in (
                "p50_ms",
                "p99_ms",
                "p999_ms",
                "most_ms",
                "cpu_us",
                "beside_ms",
                "told_us",
                "late_p99_ms",
            )
        )
        print(
            f"| {way} | {p50:.3f} | {p99:.2f} | {p999:.2f} | {most:.1f} | {cpu:.1f} | {others:.2f} | {told:.0f} | {late:.2f} |"
        )


if __name__ == "__main__":
    main()
