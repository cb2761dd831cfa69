"""Slows chosen phases of a running SGLang by chosen amounts, for whatever must see it there and nowhere else.

Found like the probe: this folder on PYTHONPATH, and nowhere else: nothing is installed, and no timed launch of the gate
carries it. It patches the workers at once, so that hooks, which SGLang puts in when all plugins are loaded, are outside of
it and see the slower phase whatever the order on PYTHONPATH.

    TOKGATE_PLANT="verify:+10%"            a tenth of what its last call took by itself
    TOKGATE_PLANT="draft:+2ms,rest:+1ms"   two at once
    TOKGATE_PLANT="verify:+10%/2"          every second call only: neighbours can be compared, however busy the machine
    TOKGATE_PLANT="verify:+20%@3"          in the scheduler of tensor-parallel rank 3 alone
    TOKGATE_PLANT="@/path/to/file"         the same from a file, read anew whenever it has changed; empty: nothing

Beside such a file, in FILE.read, each scheduler writes what it patched, and every order as it takes it up: one JSON object a
line. So whoever ordered can tell "not seen" from "not planted". An order that makes no sense is refused there, and nothing is
slowed: the server it runs in must not die of it. In the variable itself it is an error.

Phases: draft, verify, draft_extend, decode (plain), and rest, in milliseconds only: in a cycle, outside of the others.
On a CPU the host waits busily, on a GPU the GPU is kept busy. The time comes before the call's own work: what the caches
have lost meanwhile, some tenths of a millisecond on a busy CPU, is then missed by the slowed phase, not by the next one. Behind
"rest" comes the draft, which does miss it.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Protocol

WORKERS = {
    "sglang.srt.speculative.eagle_worker_v2": {
        "draft": "EagleDraftWorker.draft",
        "verify": "EAGLEWorkerV2.verify",
        "draft_extend": "EagleDraftWorker._draft_extend_for_decode",
        "rest": "EAGLEWorkerV2.forward_batch_generation",
    },
    "sglang.srt.speculative.eagle_worker": {
        "draft": "EAGLEWorker.draft",
        "verify": "EAGLEWorker.verify",
        "draft_extend": "EAGLEWorker.forward_draft_extend_after_decode",
        "rest": "EAGLEWorker.forward_batch_generation",
    },
    "sglang.srt.managers.tp_worker": {"decode": "TpModelWorker.forward_batch_generation"},
}
PHASES = ("draft", "verify", "draft_extend", "rest", "decode")
_ORDER = re.compile(rf"({'|'.join(PHASES)}):\+(\d+(?:\.\d+)?)(%|ms)(?:/([1-9]\d*))?(?:@(\d+))?")


class Amount(NamedTuple):
    """What a call takes longer: a share of its own time, and milliseconds; every so many calls; of one rank, or of all."""

    share: float = 0.0
    ms: float = 0.0
    every: int = 1
    rank: int | None = None

    def of(self, took_ms: float) -> float:
        return took_ms * self.share + self.ms


NOTHING = Amount()


def read_amounts(text: str) -> dict[str, Amount]:
    """Raise ValueError on anything else: a misspelt order must not look like no slowdown."""
    amounts: dict[str, Amount] = {}
    for order in filter(None, (part.strip() for part in text.split(","))):
        match = _ORDER.fullmatch(order)
        if match is None or match[1] in amounts or (match[1] == "rest" and match[3] == "%"):
            raise ValueError(f"no such slowdown: {order!r}")
        number, every = float(match[2]), int(match[4] or 1)
        rank = None if match[5] is None else int(match[5])
        share = match[3] == "%"
        amounts[match[1]] = Amount(
            share=number / 100 if share else 0.0,
            ms=0.0 if share else number,
            every=every,
            rank=rank,
        )
    return amounts


class Amounts:
    """What is ordered of this process now. `rank`: its tensor-parallel rank; None where SGLang does not tell it."""

    def __init__(self, order: str, rank: int | None = None) -> None:
        self._rank = rank
        self._file = Path(order[1:]) if order.startswith("@") else None
        self._written = 0
        self._amounts = {} if self._file else read_amounts(order)

    def tell(self, **what: object) -> None:
        """Append a line to FILE.read; a folder that is gone is nothing to die of."""
        if self._file is None:
            return
        try:
            with self._file.with_name(f"{self._file.name}.read").open("a", encoding="utf-8") as told:
                told.write(json.dumps({"pid": os.getpid(), **what}) + "\n")
        except OSError:
            return

    def now(self, phase: str) -> Amount:
        if self._file:
            try:
                written = self._file.stat().st_mtime_ns
                if written != self._written:
                    self._written = written
                    self._read(self._file)
            except OSError:
                self._amounts = {}
        amount = self._amounts.get(phase, NOTHING)
        return amount if amount.rank is None or amount.rank == self._rank else NOTHING

    def _read(self, file: Path) -> None:
        self._amounts = {}
        try:
            text = file.read_text(encoding="utf-8")
            self._amounts = read_amounts(text)
        except ValueError as error:
            self.tell(refused=str(error))
        else:
            self.tell(order=text.strip())


class Delay(Protocol):
    """One phase's."""

    def prepare(self) -> None:
        """Do once what takes long and belongs to no call that is slowed."""
        ...

    def before(self, call: Callable[[], Any], amount: Amount) -> Any:
        """Let the time pass, and then make the call."""
        ...


class BusyHost:
    """Busy, as a slower computation would be."""

    def __init__(self) -> None:
        self._took_ms = 0.0

    def prepare(self) -> None:
        """Nothing: the host's clock needs no measuring."""

    def before(self, call: Callable[[], Any], amount: Amount) -> Any:
        until = time.perf_counter() + amount.of(self._took_ms) / 1e3
        while time.perf_counter() < until:
            pass
        began = time.perf_counter()
        result = call()
        self._took_ms = (time.perf_counter() - began) * 1e3
        return result


class GpuSpeed:
    """How many cycles a millisecond has; measured once for all phases, as it keeps the GPU busy for some 20 ms."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda  # torch.cuda
        self._cycles_per_ms = 0.0

    def cycles_per_ms(self) -> float:
        if not self._cycles_per_ms:
            for _ in range(2):  # the first one loads the kernel
                begin = event(self._cuda)
                self._cuda._sleep(20_000_000)  # noqa: SLF001 - torch has no public kernel that waits
                end = event(self._cuda)
                end.synchronize()
                self._cycles_per_ms = 20_000_000 / begin.elapsed_time(end)
        return self._cycles_per_ms


class BusyGpu:
    """Kernels that do nothing for the time, in the call's own stream."""

    def __init__(self, cuda: Any, speed: GpuSpeed) -> None:
        self._cuda = cuda  # torch.cuda
        self._speed = speed
        self._begin: Any = None  # events around the call that is being timed
        self._end: Any = None
        self._took_ms = 0.0

    def prepare(self) -> None:
        self._speed.cycles_per_ms()

    def before(self, call: Callable[[], Any], amount: Amount) -> Any:
        if self._end is not None and self._end.query():
            self._took_ms = self._begin.elapsed_time(self._end)
            self._begin = self._end = None
        if longer := amount.of(self._took_ms):
            self._cuda._sleep(int(longer * self._speed.cycles_per_ms()))  # noqa: SLF001 - torch has no public kernel that waits
        if self._end is not None:
            return call()
        self._begin = event(self._cuda)
        result = call()
        self._end = event(self._cuda)
        return result


def event(cuda: Any) -> Any:
    """Return an event recorded now; `cuda`: torch.cuda."""
    made = cuda.Event(enable_timing=True)
    made.record()
    return made


def slowed(original: Callable[..., Any], phase: str, amounts: Amounts, delay: Delay) -> Callable[..., Any]:
    """Return `original`, taking longer where it decodes: prefill goes through two of these methods as well.

    The first call that decodes prepares the delay, whatever is ordered then: it is one of the server's own warm-up, and the
    first one that is slowed may be measured.
    """
    calls, prepared = count(1), False

    @functools.wraps(original)
    def slower(*args: Any, **kwargs: Any) -> Any:
        nonlocal prepared
        if phase in ("rest", "decode") and not _decodes(args):
            return original(*args, **kwargs)
        if not prepared:
            prepared = True
            delay.prepare()
        amount = amounts.now(phase)
        if amount == NOTHING:
            return original(*args, **kwargs)
        if next(calls) % amount.every:
            return original(*args, **kwargs)
        return delay.before(lambda: original(*args, **kwargs), amount)

    return slower


def _decodes(args: tuple[Any, ...]) -> bool:
    modes = [mode for mode in (getattr(value, "forward_mode", None) for value in args) if mode is not None]
    return bool(modes) and bool(modes[0].is_decode())


def _scheduler() -> FrameType | None:
    """Return the first frame of a scheduler, whose arguments tell its rank; None in SGLang's other processes."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the documented way to look at one's callers
    while frame is not None and frame.f_code.co_name != "run_scheduler_process":
        frame = frame.f_back
    return frame


def register() -> None:
    """Entry point, called by SGLang in each of its processes."""
    order = os.environ.get("TOKGATE_PLANT")
    if not order or (scheduler := _scheduler()) is None:
        return
    rank = scheduler.f_locals.get("tp_rank")
    amounts = Amounts(order, rank if isinstance(rank, int) else None)
    try:
        import torch  # noqa: PLC0415 - in schedulers only
    except ModuleNotFoundError:
        return  # no SGLang that computes anything: a stand-in, which may do itself what is ordered
    patched, speed = [], GpuSpeed(torch.cuda)
    for module, names in WORKERS.items():
        try:
            worker = import_module(module)
        except ModuleNotFoundError:
            continue  # each version has one of the two generations, or both
        for phase, name in names.items():
            owner, _, method = name.partition(".")
            delay = BusyGpu(torch.cuda, speed) if torch.cuda.is_available() else BusyHost()
            kind = getattr(worker, owner)
            setattr(kind, method, slowed(getattr(kind, method), phase, amounts, delay))
            patched.append(f"{module}.{name}")
    amounts.tell(patched=patched, waits="gpu" if torch.cuda.is_available() else "host")
