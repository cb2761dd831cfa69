"""What is known of a model's folder before any server reads it."""

from __future__ import annotations

from .record import Record, Unread


class ModelConfig(Record):
    """The part of a config.json that decides whether a model fits. None: the file does not say."""

    architectures: tuple[str, ...] = ()
    hidden_size: int | None = None
    layers: int | None = None
    heads: int | None = None
    kv_heads: int | None = None  # as many as heads where the file does not say
    head_dim: int | None = None
    vocab_size: int | None = None
    draft_vocab_size: int | None = None
    positions: int | None = None  # max_position_embeddings
    dtype: str | None = None
    quantization: str | None = None  # its method, and bits where told: "compressed-tensors, 4 bits"
    mla_width: int | None = (
        None  # kv_lora_rank + qk_rope_head_dim: values a token and layer of a latent KV cache
    )
    target_hidden_size: int | None = None  # of an EAGLE-3 draft: the hidden states that it is fed
    aux_layers: tuple[int, ...] | None = None  # of an EAGLE-3 draft: the target's layers that it is fed from
    own_code: bool = False  # auto_map: Python files of the folder are to be run
    unread: tuple[Unread, ...] = ()


class ModelFolder(Record):
    """A model's folder as its host has it."""

    path: str
    here: bool  # a folder that can be read
    why: str | None = None  # not here, and why
    config: ModelConfig | None = None
    why_no_config: str | None = None
    weight_bytes: int | None = None  # None: no weights
    weight_files: int = 0
    missing_files: tuple[str, ...] = ()  # named by the index and not there, or not readable
    tokenizer_files: tuple[str, ...] = ()
    tensors: dict[
        str, tuple[int, ...]
    ] = {}  # of a draft: name -> shape, from the headers of safetensors files
    hot_tokens: int | None = None  # of a draft: entries of its map into the target's vocabulary (d2t)
    hot_token_max: int | None = None  # the largest id of the target that it names
    why_no_tensors: str | None = None
