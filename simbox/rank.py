"""The processes below main: one scheduler per rank, and the detokenizer.

They are started by multiprocessing's spawn, as SGLang's are: a real exec with main's environment of that moment,
then the real setproctitle, which wipes /proc/PID/environ unless SPT_NOENV=1. What NCCL makes of the variables is
read from the environment of that exec. They die with main (PDEATHSIG), but for the one a scenario lets go.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from simbox import acceptance, allreduce, ledger, nccl_log, rank_life, sglang_tree
from simbox.knobs import Knobs
from simbox.rank_life import TICK_S, RankPlan
from simbox.server_log import ServerLog
from simbox.smi_gpu import RESERVED_MIB

_PR_SET_PDEATHSIG = 1
# What engine.py puts into os.environ before it starts the schedulers: there to be seen in each child's exec
# environment, and not in main's own.
OVERWRITTEN = {"CUDA_DEVICE_MAX_CONNECTIONS": "8", "CUDA_MODULE_LOADING": "AUTO", "TRTLLM_ENABLE_PDL": "1"}
# The model's share of each GPU's memory, the context's own, and what the draft takes.
WEIGHTS_SHARE = 0.76
CONTEXT_MIB = 620
DRAFT_MIB = 1450
MIB_PER_TOKEN = 0.0343


@dataclass(frozen=True)
class RankReady:
    """What it answers once it is up."""

    rank: int
    pid: int
    extra_us: float  # what its all-reduce costs above the tuned one
    nccl: dict[str, str]  # NCCL_* in its exec environment
    pin: acceptance.Pin | None
    tokens: int  # room in its KV cache
    kernel: str  # of its all-reduce; "" on one rank alone
    timings: dict[str, float]


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the process that started us is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def exec_environment() -> dict[str, str]:
    """Read the environment this process was started with. Only before setproctitle."""
    pairs = Path("/proc/self/environ").read_bytes().split(b"\0")
    return dict(p.decode(errors="replace").split("=", 1) for p in pairs if b"=" in p)


def _title(words: str) -> None:
    # SGLang's children set these once more. setproctitle wipes what lies in one piece before the first variable that
    # was set anew: so everything inherited goes, and what main had added stays readable, as seen on real servers.
    os.environ.update(OVERWRITTEN)
    import setproctitle  # noqa: PLC0415 - importing it already moves the environment

    setproctitle.setproctitle(words)


def run_detokenizer(version: str, pipe: Connection) -> None:
    """Be `sglang::detokenizer`: there to be seen, ended by main."""
    die_with_parent()
    _title("sglang::detokenizer")
    sglang_tree.load_plugins(version)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()


@dataclass(frozen=True)
class SchedulerArguments:
    """Of server_args what a plugin may look at. The device is where the rank's time is spent: on the host."""

    speculative_algorithm: str | None
    device: str = "cpu"


def run_scheduler_process(  # noqa: PLR0917 - as multiprocessing hands them over
    server_args: SchedulerArguments,  # noqa: ARG001 - plugins read it in this frame
    gpu_id: int,  # noqa: ARG001 - likewise
    tp_rank: int,  # noqa: ARG001 - likewise
    plan: RankPlan,
    pipe: Connection,
    load: Any,
    feed: Connection,
) -> None:
    """Be one scheduler, under the names by which plugins know one and its arguments.

    `load`: shared array of busy, hanging, seconds of load. `feed`: where main tells of each step.
    """
    environment = exec_environment()
    sglang_tree.load_plugins(plan.version)
    leaking = plan.rank == plan.knobs.leak_rank
    if leaking:
        os.setsid()
    else:
        die_with_parent()
    _title("sglang::scheduler" + (f"_TP{plan.rank}" if plan.ranks > 1 else ""))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(_late(plan))
    log = ServerLog(plan.version, f" TP{plan.rank}" if plan.ranks > 1 else "")
    try:
        ready = _start(plan, environment, log, pipe)
    except (allreduce.NcclRefusesError, MemoryError) as error:
        _fail(plan, log, error)
        pipe.send(None)
        sys.exit(3)
    pipe.send(ready)
    try:
        rank_life.live(plan, pipe, load, feed, leaking=leaking)
    except Exception:  # noqa: BLE001 - as SGLang's own: whatever it was, the scheduler is done
        log.line(f"Scheduler hit an exception: {traceback.format_exc()}")
        sys.exit(1)


def _late(plan: RankPlan) -> dict[str, str]:
    """Return what comes too late for the communicator that decodes, and is never seen in /proc/PID/environ."""
    if not acts_on(plan.knobs, plan.rank):
        return {}
    return {name: allreduce.COSTS.get(name, ("1", 0.0))[0] for name in plan.knobs.nccl_late}


def acts_on(knobs: Knobs, rank: int) -> bool:
    """Say whether the faults of NCCL variables concern this rank."""
    return not knobs.nccl_ranks or rank in knobs.nccl_ranks


def _start(plan: RankPlan, environment: dict[str, str], log: ServerLog, pipe: Connection) -> RankReady:
    knobs, start = plan.knobs, time.monotonic()
    total = knobs.gpu_mib - RESERVED_MIB
    free = total - sum(h.mib for h in ledger.held(plan.state) if h.holder.gpu == plan.gpu)
    log.line("Init torch distributed begin.")
    if plan.nodes > 1:
        with contextlib.suppress(EOFError, OSError):
            pipe.recv()  # main says that every node has come
    view = allreduce.understand(environment)
    messages = [7168 * 2 * max(1, plan.draft_tokens), 4] if plan.ranks > 1 else []
    if plan.ranks > 1:
        for text in nccl_log.lines(
            view, environment, rank=plan.rank, ranks=plan.ranks, pid=os.getpid(), messages=messages
        ):
            log.bare(text)
        for text in nccl_log.late_lines(_late(plan), environment, rank=plan.rank, pid=os.getpid()):
            log.bare(text)
    log.line(f"Init torch distributed ends. elapsed={time.monotonic() - start:.2f} s, mem usage=0.61 GB")
    _hold(plan, CONTEXT_MIB)
    weights = round(plan.knobs.gpu_mib * WEIGHTS_SHARE)
    log.line(f"Load weight begin. avail mem={free / 1024:.2f} GB")
    begun = time.monotonic()
    time.sleep(knobs.start_s * 0.4)
    if free < CONTEXT_MIB + weights:
        raise MemoryError(
            f"CUDA out of memory. Tried to allocate {weights / 1024:.2f} GiB. GPU {plan.gpu} has a total capacity of"
            f" {total / 1024:.2f} GiB of which {free / 1024:.2f} GiB is free."
        )
    _hold(plan, CONTEXT_MIB + weights)
    load_s = time.monotonic() - begun
    avail = free - CONTEXT_MIB - weights
    log.line(
        f"Load weight end. elapsed={load_s:.2f} s, type=KimiK25ForConditionalGeneration, "
        f"avail mem={avail / 1024:.2f} GB, mem usage={weights / 1024:.2f} GB."
    )
    if plan.speculative:
        avail -= DRAFT_MIB
        log.line(
            f"Load weight end. elapsed=0.03 s, type=LlamaForCausalLMEagle3, avail mem={avail / 1024:.2f} GB, "
            f"mem usage={DRAFT_MIB / 1024:.2f} GB."
        )
    kv = round(avail - total * (1 - plan.mem_fraction))
    if kv <= 0:
        raise MemoryError("Not enough memory. Please try to increase --mem-fraction-static.")
    tokens = int(kv / MIB_PER_TOKEN)
    log.line(f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, KV size: {kv / 1024:.2f} GB")
    log.line(f"Memory pool end. avail mem={(avail - kv) / 1024:.2f} GB")
    _hold(plan, free - avail + kv)
    graphs = _capture(plan, log, (avail - kv) / 1024)
    timings = {"load_weight": load_s, "kv_cache_allocation": 0.02, "scheduler_e2e": time.monotonic() - start}
    return RankReady(
        rank=plan.rank,
        pid=os.getpid(),
        extra_us=view.extra_us if plan.ranks > 1 else 0.0,
        nccl={k: v for k, v in environment.items() if k.startswith("NCCL_")},
        pin=acceptance.pin(environment),
        tokens=tokens,
        kernel=f"ncclDevKernel_AllReduce_Sum_bf16_{view.algo.upper()}_{view.proto.upper()}"
        if plan.ranks > 1
        else "",
        timings=timings | graphs,
    )


def _capture(plan: RankPlan, log: ServerLog, avail: float) -> dict[str, float]:
    if not plan.graph_sizes:
        return {}
    seconds = plan.knobs.start_s * 0.2
    what = [("decode", 1)]
    if plan.speculative:
        what = [("target verify", plan.draft_tokens)] if plan.verify_graph else []
        what += [("draft decode", 1), ("draft extend", plan.draft_tokens)]
    for name, tokens in what:
        log.capture(name, tokens, plan.graph_sizes, avail, seconds)
    time.sleep(seconds)
    return {name.replace(" ", "_"): seconds for name, _ in what}


def _hold(plan: RankPlan, mib: int) -> None:
    never = plan.knobs.memory_never_gpu == plan.gpu
    back = ledger.NEVER if never else plan.knobs.memory_return_s + TICK_S
    name = "sglang::scheduler" + (f"_TP{plan.rank}" if plan.ranks > 1 else "")
    holder = ledger.Holder(plan.gpu, os.getpid(), ledger.start_ticks(os.getpid()), mib, name, back)
    ledger.claim(plan.state, holder)


def _fail(plan: RankPlan, log: ServerLog, error: Exception) -> None:
    if isinstance(error, allreduce.NcclRefusesError):
        log.bare(nccl_log.warning(str(error), rank=plan.rank, pid=os.getpid()))
        words = "torch.distributed.DistBackendError: NCCL error: invalid argument (run with NCCL_DEBUG=WARN for details)"
    else:
        words = ("torch.OutOfMemoryError: " if "CUDA" in str(error) else "RuntimeError: ") + str(error)
    log.line(f"Scheduler hit an exception: Traceback (most recent call last):\n  (simulated)\n{words}\n")
