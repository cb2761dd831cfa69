"""/start_profile: traces of the coming steps in the shape torch's profiler writes them.

One file a rank, `ID-TP-N.trace.json.gz`, with the annotations SGLang makes (draft, draft_extend, step[TARGET_VERIFY
bs=1] …) and the all-reduce kernels inside each target pass: proof that NCCL is on the decode path, which says nothing
about who chose its algorithm.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simbox import MARK

_TARGETS = {"verify": "TARGET_VERIFY", "decode": "DECODE", "prefill": "EXTEND"}


class Profiler:
    """Collects steps between start and stop. `kernels`: names of each rank's all-reduce kernel; none on one rank."""

    def __init__(self, *, ranks: int, kernels: Sequence[str], all_reduces: int) -> None:
        self._ranks, self._kernels, self._all_reduces = ranks, kernels, all_reduces
        self._folder: Path | None = None
        self._left: int | None = None
        self._id = ""
        self._events: list[dict[str, Any]] = []

    @property
    def running(self) -> bool:
        return self._folder is not None

    def start(self, folder: Path, steps: int | None) -> None:
        """Begin; stops by itself after `steps` steps. OSError when the folder cannot be had."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._left, self._id, self._events = folder, steps, str(time.time()), []

    def step(self, phases: dict[str, float], *, due_ns: int, batch: int) -> bool:
        """Take one step that was due at `due_ns`; say whether it was the last one."""
        if self._folder is None:
            return False
        begin = due_ns / 1000 - sum(phases.values()) * 1000
        for phase, ms in phases.items():
            if phase in _TARGETS:
                self._add(f"step[{_TARGETS[phase]} bs={batch}]", "gpu_user_annotation", begin, ms * 1000)
                self._reduce(begin, ms * 1000)
            elif phase != "host":
                self._add(phase, "gpu_user_annotation", begin, ms * 1000)
            begin += ms * 1000
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.stop()
                return True
        return False

    def stop(self) -> Path | None:
        """Write the traces; returns their folder, None when nothing ran."""
        folder, self._folder = self._folder, None
        if folder is None:
            return None
        for rank in range(self._ranks):
            trace = {
                "schemaVersion": 1,
                "simulated": MARK,
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self._ranks},
                "displayTimeUnit": "ms",
                "traceEvents": [self._of(rank, event) for event in self._events],
            }
            with gzip.open(folder / f"{self._id}-TP-{rank}.trace.json.gz", "wt", encoding="utf-8") as file:
                json.dump(trace, file)
        return folder

    def _reduce(self, begin_us: float, length_us: float) -> None:
        for number in range(self._all_reduces if self._kernels else 0):
            at = begin_us + length_us * (number + 0.5) / self._all_reduces
            self._add("all-reduce", "kernel", at, 20.0)

    def _add(self, name: str, kind: str, at_us: float, length_us: float) -> None:
        self._events.append({"ph": "X", "cat": kind, "name": name, "tid": 13, "ts": at_us, "dur": length_us})

    def _of(self, rank: int, event: dict[str, Any]) -> dict[str, Any]:
        if event["name"] == "all-reduce":
            return {**event, "name": self._kernels[rank], "pid": rank, "args": {"device": rank, "stream": 13}}
        return {**event, "pid": rank}
