"""Does tensor parallelism divide the model? Else its start ends in an assertion, after minutes of loading."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig


def heads_divide(config: ModelConfig, tp: int) -> Iterator[Remark]:
    """Yield what does not divide (SGLang 0.5.23 models/llama.py: heads by ranks, KV heads either way)."""
    do = "choose a tp_size that divides the heads"
    if config.heads is not None and config.heads % tp:
        yield Remark.fail(f"{config.heads} attention heads cannot be shared by tp_size = {tp}", do)
    kv = config.kv_heads
    if kv is None or config.mla_width is not None:  # a latent cache is the same in every rank
        return
    if kv % tp and tp % kv:
        yield Remark.fail(f"{kv} KV heads and tp_size = {tp}: neither divides the other", do)
    elif kv < tp:
        yield Remark.note(f"{kv} KV heads on {tp} ranks: each rank keeps a whole one, {tp // kv} times over")
