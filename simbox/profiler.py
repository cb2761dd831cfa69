"""/start_profile: traces of the coming steps in the shape torch's profiler writes them.

One file a rank, `ID-TP-N.trace.json.gz`, with the spans SGLang makes on host and GPU (scheduler.run_batch, draft,
draft_extend, step[TARGET_VERIFY bs=1] …) and the kernels inside each: as long as the truth file says, the all-reduces
of a target pass between its other kernels, and the GPU idle for the rest. A rank that waits for a slower one does so in
its all-reduces. The kernels' names prove that NCCL is on the decode path and say nothing about who chose its algorithm.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from simbox import MARK
from simbox.model import Kernels, Step

_TARGETS = {"verify": "TARGET_VERIFY", "decode": "DECODE", "prefill": "EXTEND"}
_LAUNCH_US = 400.0  # what the host needs for a span is over long before the GPU is done
_CALL_US = 2.0
_STREAM = 13
_COMPUTE = "nvjet_sm120_tst_64x8_64x16_4x1_v_bz_TNT"
Event = dict[str, Any]


class _Taken(NamedTuple):
    """One step of every rank."""

    every: tuple[Step, ...]
    due_ns: int
    batch: int
    tokens: int


class Profiler:
    """Collects steps between start and stop. `kernels`: names of each rank's all-reduce kernel; none on one rank."""

    # Where a rank's trace goes that is of another node: its bytes are handed over, to be written there.
    elsewhere: Callable[[int, Path, bytes], None] | None = None
    local: int | None = None  # ranks of this node; None: all

    def __init__(self, *, pids: Sequence[int], kernels: Sequence[str], all_reduces: int, gpu: str) -> None:
        self._pids, self._kernels, self._all_reduces, self._gpu = pids, kernels, all_reduces, gpu
        self._folder: Path | None = None
        self._left: int | None = None
        self._id = ""
        self._taken: list[_Taken] = []
        self._launched = 0
        self._writing = threading.Thread()

    @property
    def running(self) -> bool:
        return self._folder is not None

    def start(self, folder: Path, steps: int | None) -> None:
        """Begin; stops by itself after `steps` steps. OSError when the folder cannot be had."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._left, self._id = folder, steps, str(time.time())
        self._taken = []

    def step(self, every: Sequence[Step], *, due_ns: int, batch: int, tokens: int) -> bool:
        """Take one step of every rank that was due at `due_ns`; say whether it was the last one."""
        if self._folder is None:
            return False
        # Only that: what is made of it would make the next step late.
        self._taken.append(_Taken(tuple(every), due_ns, batch, tokens))
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.stop()
                return True
        return False

    def stop(self) -> Path | None:
        """Have the traces written; returns their folder, None when nothing ran."""
        folder, self._folder = self._folder, None
        if folder is not None:
            self._writing = threading.Thread(
                target=self._write, args=(folder, self._id, self._taken), daemon=True
            )
            self._writing.start()
        return folder

    def wait(self) -> None:
        """Return when the last traces are written."""
        if self._writing.ident is not None:
            self._writing.join()

    def _write(self, folder: Path, name: str, taken: list[_Taken]) -> None:
        """Step by step, so that main need not wait for long to run in between."""
        for rank in range(len(self._pids)):
            head = {
                "schemaVersion": 1,
                "simulated": MARK,
                "deviceProperties": [{"id": rank, "name": self._gpu}],
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(self._pids)},
                "displayTimeUnit": "ms",
            }
            path = folder / f"{name}-TP-{rank}.trace.json.gz"
            away = io.BytesIO() if self.local is not None and rank >= self.local else None
            with (
                contextlib.suppress(OSError),  # the folder was taken away meanwhile
                gzip.open(away or path, "wt", compresslevel=1, encoding="utf-8") as file,
            ):
                file.write(json.dumps(head)[:-1] + ', "traceEvents": [')
                comma = ""
                for one in taken:
                    step = one.every[rank]
                    begin_us = one.due_ns / 1000 - step.ms * 1000
                    for events in _batched(self._spans(rank, step, begin_us, one.batch, one.tokens)):
                        file.write(comma + json.dumps(events)[1:-1])
                        comma = ", "
                file.write("]}")
            if away is not None and self.elsewhere is not None:
                self.elsewhere(rank, path, away.getvalue())

    def _spans(self, rank: int, step: Step, begin_us: float, batch: int, tokens: int) -> Iterator[Event]:
        gpu_us = (step.ms - step.phases.get("host", 0.0)) * 1000
        yield from self._span(rank, "scheduler.run_batch", begin_us, gpu_us)
        for phase, ms in step.phases.items():
            if phase == "host":
                continue
            kernels, sample = step.kernels[phase], step.sample_ms if phase == "verify" else 0.0
            kernels, length = replace(kernels, compute=kernels.compute - sample), (ms - sample) * 1000
            count = f" toks={tokens}" if phase == "prefill" else ""
            name = f"step[{_TARGETS[phase]} bs={batch}{count}]" if phase in _TARGETS else phase
            yield from self._span(rank, name, begin_us, length)
            launched = list(self._inside(rank, kernels, begin_us, length))
            yield from self._launches(rank, launched, begin_us, graph=step.graph and phase != "prefill")
            begin_us += length
            if sample:
                yield from self._inside(rank, Kernels(sample), begin_us, sample * 1000)
            begin_us += sample * 1000

    def _span(self, rank: int, name: str, at_us: float, length_us: float) -> Iterator[Event]:
        host_us = min(length_us, _LAUNCH_US)
        yield {
            **_event("user_annotation", name, at_us, host_us),
            "pid": self._pids[rank],
            "tid": self._pids[rank],
        }
        yield {**_event("gpu_user_annotation", name, at_us, length_us), "pid": rank, "tid": _STREAM}

    def _launches(self, rank: int, kernels: list[Event], at_us: float, *, graph: bool) -> Iterator[Event]:
        """Say what launched each kernel: one graph all of them, or each a call of its own."""
        for number, kernel in enumerate(kernels):
            if number == 0 or not graph:
                self._launched += 1
                name = "cudaGraphLaunch" if graph else "cudaLaunchKernel"
                yield {
                    **_event("cuda_runtime", name, at_us + number * _CALL_US, _CALL_US),
                    "pid": self._pids[rank],
                    "tid": self._pids[rank],
                    "args": {"correlation": self._launched},
                }
            yield kernel | {"args": kernel["args"] | {"correlation": self._launched}}

    def _inside(self, rank: int, kernels: Kernels, at_us: float, length_us: float) -> Iterator[Event]:
        reduces = self._all_reduces if self._kernels and kernels.all_reduce else 0
        parts = max(1, reduces)
        compute, reduce = kernels.compute * 1000 / parts, kernels.all_reduce * 1000 / parts
        where = {"pid": rank, "tid": _STREAM, "args": {"device": rank, "stream": _STREAM}}
        for part in range(parts):
            at = at_us + length_us * part / parts
            yield {**_event("kernel", _COMPUTE, at, compute), **where}
            if reduces:
                yield {**_event("kernel", self._kernels[rank], at + compute, reduce), **where}


def _batched(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Yield the events by the hundred."""
    while some := list(islice(events, 100)):
        yield some


def _event(kind: str, name: str, at_us: float, length_us: float) -> Event:
    return {"ph": "X", "cat": kind, "name": name, "ts": round(at_us, 3), "dur": round(length_us, 3)}
