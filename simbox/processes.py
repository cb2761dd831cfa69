"""The process tree of one server: started, watched and ended as SGLang does it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from simbox.knobs import Knobs
from simbox.rank import (
    OVERWRITTEN,
    RankReady,
    SchedulerArguments,
    acts_on,
    run_detokenizer,
    run_scheduler_process,
)
from simbox.rank_life import RankPlan
from simbox.step_feed import Feed

# Set by engine.py too, but only where the shell has not.
DEFAULTED = {"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"}


class StartFailedError(Exception):
    """A scheduler did not come up."""


@dataclass(frozen=True)
class Child:
    """One process of ours and the pipe to it."""

    name: str
    process: SpawnProcess
    pipe: Connection


class Tree:
    """Main's children. `load` is shared with the ranks: busy, hanging, seconds of load."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self.load: Any = self._context.RawArray("d", 3)
        self.children: list[Child] = []
        self.feed = Feed(())
        self.stopping = False
        self.before_stop: Callable[[], None] = lambda: None  # what further nodes are told

    def start(
        self, plans: Sequence[RankPlan], *, meet: Callable[[], None] | None = None, follower: bool = False
    ) -> list[RankReady]:
        """Start all ranks and, but on a follower, the detokenizer; return when every rank is up. StartFailedError.

        `meet` waits for the other nodes, while the ranks wait for it.
        """
        os.environ.update(OVERWRITTEN | {"SGLANG_RUN_ID": f"sglang-run-{time.time()}-{os.getpid()}"})
        for name, value in DEFAULTED.items():
            os.environ.setdefault(name, value)
        ends: list[Connection] = []
        for plan in plans:
            told, end = self._context.Pipe(duplex=False)
            with _nccl_as_it_arrives(plan.knobs, plan.rank):
                shared = (self.load, told)
                told_plugins = SchedulerArguments("EAGLE3" if plan.speculative else None)
                args = (told_plugins, plan.gpu, plan.rank, plan)
                self._start(f"scheduler_{plan.rank}", run_scheduler_process, args, shared=shared)
            told.close()
            ends.append(end)
        self.feed = Feed(ends)
        one = plans[0]
        if not follower:
            self._start("detokenizer", run_detokenizer, (one.version,))
        if meet is not None:
            meet()
            for child in self.children[: len(plans)]:
                with contextlib.suppress(OSError):
                    child.pipe.send("met")
        ready: list[RankReady] = []
        for child in self.children[: len(plans)]:
            wait([child.pipe, child.process.sentinel])
            try:
                answer = child.pipe.recv() if child.pipe.poll() else None
            except (EOFError, OSError):
                answer = None
            if answer is None:
                raise StartFailedError(
                    f"Rank {plans[len(ready)].rank} scheduler is dead. Please check if there are relevant logs."
                )
            ready.append(answer)
        return ready

    def dead(self) -> Child | None:
        """Return a child that ended and should not have."""
        return next((c for c in self.children if c.process.exitcode is not None), None)

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ask every child to end, then kill the rest but the leaked one."""
        self.before_stop()
        for child in self.children:
            with contextlib.suppress(OSError, ValueError):
                child.pipe.send("stop")
        leaked = [c for c in self.children if _of_its_own(c)]
        for child in self.children:
            if child not in leaked:
                child.process.join(timeout_s)
        self.kill(but=leaked)

    def kill(self, but: Sequence[Child] = ()) -> None:
        """SIGKILL for every child still there."""
        for child in self.children:
            if child not in but and child.process.exitcode is None:
                child.process.kill()
                child.process.join(5.0)

    def _start(self, name: str, target: Any, args: tuple[Any, ...], shared: tuple[Any, ...] = ()) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=target, args=(*args, theirs, *shared), name=name)
        process.start()
        theirs.close()
        self.children.append(Child(name, process, ours))


def _of_its_own(child: Child) -> bool:
    """Say whether a child left our process group: the one that a scenario lets go."""
    try:
        return os.getpgid(child.process.pid or 0) != os.getpgrp()
    except ProcessLookupError:
        return False


@contextlib.contextmanager
def _nccl_as_it_arrives(knobs: Knobs, rank: int) -> Iterator[None]:
    """Let a rank be started with what the scenario leaves of the NCCL variables."""
    before = dict(os.environ)
    if acts_on(knobs, rank):
        for name in (*knobs.nccl_dropped, *knobs.nccl_late):
            os.environ.pop(name, None)
        for pair in knobs.nccl_wrong:
            name, _, value = pair.partition("=")
            os.environ[name] = value
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
