"""Do weights and KV cache fit the GPUs? An estimate from sizes on disk, with its arithmetic shown.

SGLang 0.5.23 takes mem_fraction_static of a GPU for weights and cache together, and leaves the rest to activations and
graphs (arg_groups/memory_hook.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig

GIB = 2**30
# memory_hook.py of SGLang 0.5.23 holds back for activations and graphs: 512 MiB, 1.5 MiB for each of 2048 tokens at least
# that are prefilled at once, and 1 GiB for each 8 GPUs. Less free room has ended in out of memory at graph capture.
_SLACK_MIB = 512 + 1.5 * 2048


@dataclass(frozen=True)
class Asked:
    """What one arm asks of each GPU. Bytes; `fraction` None: SGLang chooses it."""

    gpu_bytes: float  # what a GPU has, the driver's own reserve taken off
    weight_bytes: int  # of target and draft, all ranks together
    ranks: int  # that share the weights
    tp: int
    fraction: float | None
    kv_bytes: float  # one value of the cache
    tokens: int  # that the largest workload holds at once


def kv_bytes_per_token(config: ModelConfig, asked: Asked) -> float | None:
    """Return what a token of the cache takes on one GPU; None: config.json does not say enough."""
    if config.layers is None:
        return None
    if config.mla_width is not None:
        return config.layers * config.mla_width * asked.kv_bytes
    if config.kv_heads is None or config.head_dim is None:
        return None
    heads = max(1, config.kv_heads // asked.tp)
    return config.layers * 2 * heads * config.head_dim * asked.kv_bytes


def memory_fits(config: ModelConfig, asked: Asked) -> Iterator[Remark]:
    """Yield one remark, with the sum."""
    weights = asked.weight_bytes / asked.ranks
    held = _SLACK_MIB * 2**20 + asked.tp / 8 * GIB
    chosen = asked.fraction is None
    room = asked.gpu_bytes - held if asked.fraction is None else asked.gpu_bytes * asked.fraction
    share = "what SGLang leaves" if chosen else f"mem_fraction_static {asked.fraction:g}"
    head = (
        f"weights {_gib(asked.weight_bytes)} / {asked.ranks} = {_gib(weights)} a GPU; {share} of "
        f"{_gib(asked.gpu_bytes)} is {_gib(room)}"
    )
    if weights >= room:
        yield Remark.fail(
            f"{head}: the weights alone do not fit",
            "use more GPUs (tp_size), a smaller or quantized model, or a larger mem_fraction_static where room is left",
        )
        return
    each = kv_bytes_per_token(config, asked)
    if each is None:
        yield Remark.unknown(
            f"{head}; the size of the KV cache is not known: config.json lacks layers, heads or head_dim"
        )
        return
    tokens = int((room - weights) / each)
    words = (
        f"{head}; KV {each / 1024:.1f} KiB a token: about {tokens:,} tokens, {asked.tokens:,} needed at once"
    )
    if tokens < asked.tokens:
        yield Remark.fail(
            f"{words}: requests would wait for each other",
            "lower the workload's concurrency or length, or make room: more GPUs, a larger mem_fraction_static",
        )
    elif asked.gpu_bytes - room < held - GIB:
        yield Remark.warn(
            f"{words}; {_gib(asked.gpu_bytes - room)} are left for activations and graphs, SGLang itself would leave "
            f"{_gib(held)}",
            "lower mem_fraction_static if the start ends with out of memory at graph capture",
        )
    else:
        yield Remark.ok(words)


def _gib(amount: float) -> str:
    return f"{amount / GIB:.1f} GiB" if amount >= GIB / 10 else f"{amount / 2**20:.1f} MiB"
