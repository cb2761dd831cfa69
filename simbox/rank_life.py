"""The life of a scheduler that is up: it runs the steps main tells of, keeps its memory, and ends when told.

Memory and telemetry are kept by a thread of its own, so that no file is written in the middle of a step.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from simbox import ledger, sglang_tree
from simbox.heat import heat
from simbox.knobs import Knobs
from simbox.rank_steps import Device, RankSteps, RankTruth
from simbox.source_cost import SourceCost
from simbox.step_feed import receive, unpack

TICK_S = 0.25
QUIET_MS = 20  # after that long without a step what is known is written down


@dataclass(frozen=True)
class RankPlan:
    """What one scheduler is told."""

    rank: int
    ranks: int
    gpu: int
    state: Path
    knobs: Knobs
    version: str
    model_path: str
    speculative: bool
    graph_sizes: tuple[int, ...]  # empty: no CUDA graphs
    verify_graph: bool
    draft_tokens: int
    mem_fraction: float
    run: Path  # folder of this start's truth files
    source: SourceCost  # what the tree's own code costs: as main measured it
    nodes: int = 1  # more: main says when all have met


def live(plan: RankPlan, pipe: Connection, load: Any, feed: Connection, *, leaking: bool) -> None:
    """Run steps until main says stop or is gone; a leaking rank stays for its time."""
    # A thread that waits for the interpreter gets it soon: the one that ends a phase is in a hurry.
    sys.setswitchinterval(0.0005)
    threading.Thread(target=_keep, args=(plan, load), name="keeper", daemon=True).start()
    end = time.monotonic() + plan.knobs.stray_life_s
    _serve(plan, pipe, feed, leaking=leaking)
    while leaking and time.monotonic() < end and plan.state.exists():
        time.sleep(TICK_S)


def _serve(plan: RankPlan, pipe: Connection, feed: Connection, *, leaking: bool) -> None:
    device = Device()
    forward, batch_of = sglang_tree.workers(device, speculative=plan.speculative)
    truth = RankTruth(plan.run / f"rank-{plan.rank}.jsonl", rank=plan.rank, pid=os.getpid())
    steps = RankSteps(
        device=device, truth=truth, forward=forward, batch_of=batch_of, rank=plan.rank, source=plan.source
    )
    poller = select.poll()
    for end in (pipe, feed):
        poller.register(end.fileno(), select.POLLIN)
    quiet_ms: int | None = QUIET_MS
    while True:
        ready = [number for number, _ in poller.poll(quiet_ms)]
        if not ready:
            steps.pause()
            quiet_ms = None
        if pipe.fileno() in ready and _told_to_stop(pipe) and not leaking:
            break
        if feed.fileno() in ready:
            record = receive(feed)
            if not record:
                break
            steps.run(unpack(record))
            quiet_ms = QUIET_MS
    steps.pause()


def _told_to_stop(pipe: Connection) -> bool:
    try:
        return bool(pipe.recv() == "stop")
    except (EOFError, OSError):
        return True


def _keep(plan: RankPlan, load: Any) -> None:
    told = None
    while True:
        now = heat(plan.knobs, busy=bool(load[0]), hanging=bool(load[1]), loaded_s=load[2], gpu=plan.gpu)
        if now != told or load[0] or load[1]:
            ledger.tell_heat(plan.state, plan.gpu, now)
            told = now
        ledger.touch(plan.state, plan.gpu, os.getpid())
        time.sleep(TICK_S)
