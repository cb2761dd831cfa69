"""Which GPU kernels of a trace are NCCL's, and which reduce between GPUs in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokgate.records.nccl import KernelUse, RankProfile

from .torch_trace import TraceReading

# ncclDevKernel_… since 2.19, ncclKernel_… before, nccl_… of ROCm's RCCL.
_NCCL = re.compile(r"nccl(?:Dev)?Kernel|rccl", re.IGNORECASE)
# What SGLang may use instead: its own custom all-reduce (cross_device_reduce_1stage), FlashInfer's and
# TensorRT-LLM's fused ones, torch's symmetric memory, mscclpp, quick all-reduce. NCCL's own symmetric kernels
# belong here too: they have an algorithm of their own and read neither NCCL_ALGO nor NCCL_PROTO.
_INSTEAD = re.compile(
    r"cross_device_reduce|(?:one|two)_?shot|multimem|all_?reduce_?fusion|lamport|mscclpp|quick_?reduce|symm_?mem|ncclSym",
    re.IGNORECASE,
)
SHOWN = 20


def rank_profile(reading: TraceReading, *, rank: int, file: str) -> RankProfile:
    """Return what a rank's trace says about NCCL; `rank` counts where the trace does not name its own."""
    nccl, instead = reducing(reading.kernels)
    return RankProfile(
        rank=rank if reading.rank is None else reading.rank,
        file=file,
        steps=reading.steps,
        nccl=nccl[:SHOWN],
        instead=instead[:SHOWN],
        kernels=sum(k.calls for k in reading.kernels),
        complete=reading.complete,
        unread=reading.unread,
    )


def reducing(kernels: Sequence[KernelUse]) -> tuple[tuple[KernelUse, ...], tuple[KernelUse, ...]]:
    """Return NCCL's kernels, and those that reduce between GPUs in their place."""
    instead = tuple(k for k in kernels if _INSTEAD.search(k.name))
    return tuple(k for k in kernels if _NCCL.search(k.name) and k not in instead), instead
