"""What every constructed Llama of this rig has in common: its shape, its idle layers, its files."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

Weights = dict[str, Any]  # name -> tensor; torch is not installed where this is type-checked

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
ROPE_THETA = 10000.0
NORM_EPS = 1e-5


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A Llama's dimensions.

    The defaults take about 22 ms per token on one CPU core: slow enough that the verify pass is most of a
    speculative cycle, as on the machines that this rig stands for.
    """

    hidden: int = 384
    layers: int = 16
    heads: int = 8
    kv_heads: int = 8
    intermediate: int = 1024
    vocab: int = 2048

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


def idle_layer(prefix: str, shape: Shape, generator: Any, *, attention_input: int | None = None) -> Weights:
    """Return a decoder layer that costs what it costs and adds nothing: its two output projections are zero.

    `attention_input` is the width that q, k and v read; EAGLE-3's one layer reads twice the hidden size.
    """
    width = attention_input or shape.hidden

    def small(*size: int) -> Any:
        return torch.randn(*size, generator=generator) * 0.02

    return {
        f"{prefix}.self_attn.q_proj.weight": small(shape.heads * shape.head_dim, width),
        f"{prefix}.self_attn.k_proj.weight": small(shape.kv_heads * shape.head_dim, width),
        f"{prefix}.self_attn.v_proj.weight": small(shape.kv_heads * shape.head_dim, width),
        f"{prefix}.self_attn.o_proj.weight": torch.zeros(shape.hidden, shape.heads * shape.head_dim),
        f"{prefix}.mlp.gate_proj.weight": small(shape.intermediate, shape.hidden),
        f"{prefix}.mlp.up_proj.weight": small(shape.intermediate, shape.hidden),
        f"{prefix}.mlp.down_proj.weight": torch.zeros(shape.hidden, shape.intermediate),
        f"{prefix}.input_layernorm.weight": torch.ones(shape.hidden),
        f"{prefix}.post_attention_layernorm.weight": torch.ones(shape.hidden),
    }


def write_checkpoint(
    folder: Path,
    weights: Weights,
    shape: Shape,
    *,
    tokenizer: Path,
    architecture: str,
    layers: int,
    **extra: int,
) -> None:
    """Write bf16 weights, config.json and the tokenizer's files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rounded = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in weights.items()}
    save_file(rounded, str(folder / "model.safetensors"), metadata={"format": "pt"})
    config = {
        "architectures": [architecture],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocab,
        "max_position_embeddings": 8192,
        "rms_norm_eps": NORM_EPS,
        "rope_theta": ROPE_THETA,
        "hidden_act": "silu",
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "attention_bias": False,
        "mlp_bias": False,
        **extra,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    for name in TOKENIZER_FILES:
        shutil.copyfile(tokenizer / name, folder / name)


def write_truth(folder: Path, truth: dict[str, object]) -> None:
    """Write what the pair will say, for tests that predict it."""
    (folder / "truth.json").write_text(json.dumps(truth) + "\n", encoding="utf-8")
