"""What the phases of a server start really were, per rank: the truth that every reader of phases is held to.

    (run,) = truth_reader.read(state)
    for phase, mean in means(cycles(run, batch=1)).items(): print(phase, mean.gpu_ms, mean.host_ms)

Two clocks, as on a real box. `gpu_ms` is what the model gave the phase: SGLang's device timer and torch's traces tell
it, and no busy machine changes it. `host_ms` is what the rank's process really spent in the worker's call: a host clock
around that call tells it, with whatever this machine added.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simbox.truth_reader import Run


@dataclass(frozen=True)
class Cycle:
    """One step of one rank. Phases: draft, verify, draft_extend and rest, or decode and rest, or prefill."""

    number: int
    kind: str  # "verify", "decode", "prefill"
    batch: int
    graph: bool
    accepted: dict[str, int]  # draft tokens by request
    done_ns: int  # by main's clock, when its tokens left
    gpu_ms: dict[str, float]
    host_ms: dict[str, float]  # without rest before a pause
    sample_ms: float  # of verify: sampling, which is no forward pass


@dataclass(frozen=True)
class Mean:
    """One phase over some cycles, in ms."""

    n: int
    gpu_ms: float
    host_ms: float
    host_p50_ms: float


def cycles(
    run: Run,
    *,
    rank: int = 0,
    kind: str | None = None,
    batch: int | None = None,
    between_ns: tuple[int, int] | None = None,
) -> tuple[Cycle, ...]:
    """Return a rank's steps that are on record, oldest first, the server's own warm-up left out.

    `kind`, `batch`: only such steps. `between_ns`: only those whose tokens left within, as time.monotonic_ns().
    """
    steps = {step["n"]: step for step in run.steps if step["done_ns"] > run.warm_ns}
    found = []
    for line in _lines(run.path.with_name(f"rank-{rank}.jsonl")):
        step = steps.get(line[0])
        if step is None or kind not in (None, line[1]) or batch not in (None, step["batch"]):
            continue
        if between_ns is not None and not between_ns[0] <= step["done_ns"] <= between_ns[1]:
            continue
        found.append(_cycle(step, line))
    return tuple(found)


def means(some: Iterable[Cycle]) -> dict[str, Mean]:
    """Return each phase's means; `cycle` is the whole step, of those that were followed by another."""
    gpu: dict[str, list[float]] = {}
    host: dict[str, list[float]] = {}
    for one in some:
        whole = {"cycle": sum(one.host_ms.values())} if "rest" in one.host_ms else {}
        for phase, ms in (one.host_ms | whole).items():
            host.setdefault(phase, []).append(ms)
            gpu.setdefault(phase, []).append(one.gpu_ms.get(phase, sum(one.gpu_ms.values())))
    return {
        phase: Mean(len(ms), statistics.fmean(gpu[phase]), statistics.fmean(ms), statistics.median(ms))
        for phase, ms in host.items()
    }


def _cycle(step: dict[str, Any], line: list[Any]) -> Cycle:
    _, kind, told, spent, rest = line
    names = {"verify": ("draft", "verify", "draft_extend")}.get(kind, (kind,))
    gpu = dict(zip(names, told, strict=True)) | {"rest": step["phases_ms"].get("host", 0.0)}
    host = dict(zip(names, spent, strict=True)) | ({} if rest is None else {"rest": rest})
    return Cycle(
        number=step["n"], kind=kind, batch=step["batch"], graph=step["graph"], accepted=step["accepted"],
        done_ns=step["done_ns"], gpu_ms=gpu, host_ms=host, sample_ms=step["sample_ms"],
    )  # fmt: skip


def _lines(file: Path) -> list[list[Any]]:
    """Read a rank's arrays; its head and a torn last line are left out."""
    found = []
    for text in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, list):
            found.append(line)
    return found
