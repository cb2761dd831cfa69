"""Faults planted into a running SGLang through its own plugin framework, for tests that must catch them.

This folder on PYTHONPATH is enough: SGLang (0.5.11 and later) finds the entry point in the hand-written dist-info
and calls `register` in its main process, schedulers and detokenizer. The hooks run in the scheduler. The fault is read anew
at every call from the file that PLANT_FILE names, so one server can be tried with several:

    (missing or empty)      nothing
    wrong-position          every drafted token is verified one position too far to the right
    wrong-kv-slot           an accepted draft's key and value are found in the slot of the rejected draft behind it

A last word `once` plants it a single time per change of the file. Each planted fault appends a line to PLANT_FILE.log,
so that a test can tell "not caught" from "not planted". Without PLANT_FILE it does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERIFY = "sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify"


@dataclass(frozen=True)
class Order:
    """One line of PLANT_FILE."""

    fault: str = ""
    once: bool = False


def read_order(text: str) -> Order:
    """Raise ValueError on anything that is not one of the faults: a misspelt order must not look like no fault."""
    words = text.split()
    once = words[-1:] == ["once"]
    match words[:-1] if once else words:
        case []:
            return Order()
        case ["wrong-position" | "wrong-kv-slot" as fault]:
            return Order(fault=fault, once=once)
    raise ValueError(f"no such fault: {text!r}")


class Orders:
    """What is ordered now; remembers which orders that are to be carried out once have been."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._log = file.with_name(file.name + ".log")
        self._seen: tuple[int, Order] = (0, Order())
        self._done = False

    def now(self) -> Order:
        try:
            written = self._file.stat().st_mtime_ns
            if written != self._seen[0]:
                self._seen = (written, read_order(self._file.read_text(encoding="utf-8")))
                self._done = False
        except FileNotFoundError:
            return Order()
        order = self._seen[1]
        return Order() if order.once and self._done else order

    def carried_out(self, what: str) -> None:
        self._done = True
        with self._log.open("a", encoding="utf-8") as log:
            log.write(what + "\n")


def verify(
    orders: Orders, original: Callable[..., Any], worker: Any, batch: Any, *args: Any, **kwargs: Any
) -> Any:
    """Wrap EAGLEWorkerV2.verify; batch.spec_info holds the tree: per request a committed token, then the drafts."""
    order = orders.now()
    if order.fault == "wrong-position":
        tree = batch.spec_info.positions.view(-1, batch.spec_info.draft_token_num)
        tree[:, 1:] += 1
        orders.carried_out(f"wrong-position {tree.tolist()}")
    lengths = batch.seq_lens.tolist()
    rows = batch.req_pool_indices.tolist()
    result = original(worker, batch, *args, **kwargs)
    if order.fault == "wrong-kv-slot":
        table = worker.req_to_token_pool.req_to_token
        for row, length, committed in zip(rows, lengths, result.accept_lens.tolist(), strict=True):
            # Of two or more drafts the first was accepted, the second not: positions length + 1 and length + 2.
            if committed == 2 and batch.spec_info.draft_token_num > 2:
                table[row, [length + 1, length + 2]] = table[row, [length + 2, length + 1]]
                orders.carried_out(f"wrong-kv-slot row {row} position {length + 1}")
                if order.once:
                    break
    return result


def register() -> None:
    """Entry point, called by SGLang in each of its processes."""
    if "PLANT_FILE" not in os.environ:
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    orders = Orders(Path(os.environ["PLANT_FILE"]))
    HookRegistry.register(
        VERIFY,
        lambda original, *args, **kwargs: verify(orders, original, *args, **kwargs),
        HookType.AROUND,
    )
