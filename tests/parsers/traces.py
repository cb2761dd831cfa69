"""Torch profiler traces of our own making, in the shape that torch writes them."""

from __future__ import annotations

import gzip
import json
from typing import Any

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CUSTOM = "void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(sglang::RankData*)"
MATMUL = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"


def event(name: str, kind: str, at: float, length: float = 5.0, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 7, "ts": at, "dur": length, **more}


def kernel(name: str, at: float, length: float = 5.0, stream: int = 7) -> dict[str, Any]:
    return event(name, "kernel", at, length, args={"device": 0, "stream": stream})


def step(at: float, length: float = 100.0, kind: str = "DECODE") -> dict[str, Any]:
    return event(f"step[{kind} bs=1]", "gpu_user_annotation", at, length)


def decode(name: str = ALL_REDUCE, *, steps: int = 3, each: int = 2) -> list[dict[str, Any]]:
    """A prefill with one kernel, then `steps` decode steps with `each` of `name` and a matmul."""
    events = [step(0.0, kind="EXTEND"), kernel(name, 10.0)]
    for number in range(1, steps + 1):
        begin = number * 1000.0
        # Kernels first: torch writes annotations behind them.
        events += [kernel(name, begin + 10 * n) for n in range(each)]
        events += [kernel(MATMUL, begin + 90.0), step(begin)]
    return events


def trace(events: list[dict[str, Any]], *, rank: int | None = 3, packed: bool = True) -> bytes:
    """The bytes of a trace file; `rank` None leaves out which rank it is of."""
    head: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU [0]"}]}
    if rank is not None:
        head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}
    text = json.dumps({**head, "traceEvents": events, "traceName": "x.json"}, indent=1)
    return gzip.compress(text.encode()) if packed else text.encode()
