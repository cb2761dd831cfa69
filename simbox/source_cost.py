"""What the importable SGLang's own code costs a step: measured, since a source patch of the tree is real and the GPUs are not.

The model says how long kernels take, and the ranks run the tree's real worker methods around them. Whatever those methods do
beside the kernels (a sleep, a loop, a line of log) is found by running them on a device that is done at once, before the
server starts, once for one request and once for several. It is added to the phase that spends it, so that clients see
it. The tree as shipped costs some microseconds, which are told as none. A worker that says its target ran without a graph although
it was given one has dropped it, and the model then runs without.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from simbox.model import Shape, Step
from simbox.step_feed import Announced

_CALLS = 21
_LOW = _CALLS // 4  # of the sorted calls: a machine that is busy only adds
_NONE_MS = 0.05  # the shipped tree's calls take a tenth of it
_MANY = 8  # requests of the second look
_MOST_S = 2.0  # of looking at one kind of step
_KINDS = {False: ("prefill", "decode"), True: ("prefill", "verify")}
# Of a cycle: where a phase's method is found from the worker.
_METHODS = {
    "draft": ("draft_worker", "draft"),
    "verify": (None, "verify"),
    "draft_extend": ("draft_worker", "_draft_extend_for_decode"),
}


@dataclass(frozen=True)
class SourceCost:
    """Milliseconds by kind of step and phase, for one request and for each further one."""

    first: dict[str, dict[str, float]] = field(default_factory=dict)
    further: dict[str, dict[str, float]] = field(default_factory=dict)
    graph: bool = True  # whether the worker leaves the graph that it is given

    def of(self, kind: str, batch: int) -> dict[str, float]:
        """Return the milliseconds of each phase of a step for `batch` requests; {} where the tree costs none."""
        further = self.further.get(kind, {})
        found = {p: ms + (batch - 1) * further.get(p, 0.0) for p, ms in self.first.get(kind, {}).items()}
        return {phase: ms for phase, ms in found.items() if ms > 0}

    def added(self, step: Step, kind: str, batch: int) -> Step:
        """Return the step as long as it is with the tree's own code."""
        costs = self.of(kind, batch)
        if not costs:
            return step
        return replace(step, phases={p: ms + costs.get(p, 0.0) for p, ms in step.phases.items()})

    def on_all(self, every: list[Step], kind: str, batch: int) -> list[Step]:
        """Do so for a step as each rank sees it: one object for all whose kernels are equally fast."""
        longer = {id(step): self.added(step, kind, batch) for step in every}
        return [longer[id(step)] for step in every]

    def shaped(self, shape: Shape) -> Shape:
        """Return what the arguments make of the model, without graphs where the tree drops them."""
        return shape if self.graph else replace(shape, verify_graph=False, graph_max_batch=0)


Worker = tuple[Callable[[Any], Any], Callable[[Announced], Any]]


def measure(workers: Callable[[Any], Worker], *, speculative: bool) -> SourceCost:
    """`workers`: makes the worker's forward call and its batches on a device. What the tree raises is not caught."""
    first: dict[str, dict[str, float]] = {}
    further: dict[str, dict[str, float]] = {}
    graph = True
    for kind in _KINDS[speculative]:
        one, kept = _look(workers, kind, 1)
        graph = graph and kept
        many, _ = _look(workers, kind, _MANY) if one else ({}, True)
        if one:
            first[kind] = one
            further[kind] = {p: max(0.0, many.get(p, 0.0) - ms) / (_MANY - 1) for p, ms in one.items()}
    return SourceCost(first, further, graph)


class _AtOnce:
    """A device whose kernels take no time."""

    def run(self, phase: str) -> None:
        del phase


def _look(workers: Callable[[Any], Worker], kind: str, batch: int) -> tuple[dict[str, float], bool]:
    forward, batch_of = workers(_AtOnce())
    spent: dict[str, int] = {}
    if kind == "verify":
        worker = getattr(forward, "__self__", None)
        for phase, (owner, name) in _METHODS.items():
            _time(getattr(worker, owner, None) if owner else worker, name, phase, spent)
        forward = getattr(worker, "forward_batch_generation", forward)
    step = Announced(kind, 0, batch, kind != "prefill", 0, {})
    calls: list[dict[str, float]] = []
    begun, kept = time.monotonic(), True
    while len(calls) < _CALLS and (not calls or time.monotonic() - begun < _MOST_S):
        spent.clear()
        work = batch_of(step)
        before = time.monotonic_ns()
        result = forward(work)
        whole = time.monotonic_ns() - before
        kept = bool(getattr(result, "can_run_cuda_graph", step.graph)) or not step.graph
        rest = {"host": whole - sum(spent.values())} if kind == "verify" else {kind: whole}
        calls.append({phase: ns / 1e6 for phase, ns in {**spent, **rest}.items()})
    return _told(calls), kept


def _told(calls: list[dict[str, float]]) -> dict[str, float]:
    found = {}
    for phase in calls[0]:
        values = sorted(call.get(phase, 0.0) for call in calls)
        low = values[min(_LOW, len(values) - 1)]
        if low > _NONE_MS:
            found[phase] = low
    return found


def _time(owner: Any, name: str, phase: str, spent: dict[str, int]) -> None:
    """Let a method say what it takes; a tree without it has that in the rest."""
    method = getattr(owner, name, None)
    if not callable(method):
        return

    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.monotonic_ns()
        try:
            return method(*args, **kwargs)
        finally:
            spent[phase] = spent.get(phase, 0) + time.monotonic_ns() - began

    setattr(owner, name, timed)
