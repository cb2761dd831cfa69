"""config.json of a model: what decides whether it fits its GPUs, its draft and its prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tokgate.records.model import ModelConfig
from tokgate.records.record import Unread

# Models with several towers keep the language model's numbers in a table of their own (transformers' composite configs).
_NESTED = ("text_config", "llm_config", "language_config")
_LARGEST = 2**40


def read_model_config(text: str) -> ModelConfig | None:
    """Return the figures, wrongly typed ones in `unread`; None: the text is no JSON table."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict):
        return None
    tables = [t for t in (root, *(root.get(name) for name in _NESTED)) if isinstance(t, dict)]
    unread: list[Unread] = []

    def number(*names: str) -> int | None:
        for table in tables:
            for name in names:
                value = table.get(name)
                if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST:
                    return value
                if value is not None:
                    unread.append(Unread(text=f"{name} = {str(value)[:80]}", why="not a number above 0"))
        return None

    heads = number("num_attention_heads", "n_head")
    hidden = number("hidden_size", "n_embd")
    width = number("head_dim")
    if width is None and heads and hidden and hidden % heads == 0:
        width = hidden // heads
    latent, rope = number("kv_lora_rank"), number("qk_rope_head_dim")
    eagle: dict[str, Any] = next(
        (t["eagle_config"] for t in tables if isinstance(t.get("eagle_config"), dict)), {}
    )
    return ModelConfig(
        architectures=tuple(_texts(root.get("architectures"))),
        hidden_size=hidden,
        layers=number("num_hidden_layers", "n_layer"),
        heads=heads,
        kv_heads=number("num_key_value_heads") or heads,
        head_dim=width,
        vocab_size=number("vocab_size"),
        draft_vocab_size=number("draft_vocab_size"),
        positions=number("max_position_embeddings", "n_positions"),
        dtype=_first_text(tables, "torch_dtype", "dtype"),
        quantization=_quantization(tables),
        mla_width=latent + rope if latent is not None and rope is not None else None,
        target_hidden_size=number("target_hidden_size"),
        aux_layers=_layers(eagle),
        own_code=any("auto_map" in t for t in tables),
        unread=tuple(unread),
    )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item[:200] for item in value if isinstance(item, str))


def _first_text(tables: list[dict[str, Any]], *names: str) -> str | None:
    return next((t[n][:100] for t in tables for n in names if isinstance(t.get(n), str)), None)


def _quantization(tables: list[dict[str, Any]]) -> str | None:
    found = next(
        (t["quantization_config"] for t in tables if isinstance(t.get("quantization_config"), dict)), None
    )
    if found is None:
        return None
    method = found.get("quant_method") or found.get("type") or "of an unknown method"
    bits = next(_numbers(found, "bits", "num_bits"), None)
    return f"{str(method)[:60]}, {bits} bits" if bits is not None else str(method)[:60]


def _numbers(table: Mapping[str, Any], *names: str) -> Iterator[int]:
    """Yield the numbers of these names, those of nested tables (compressed-tensors' groups) last."""
    yield from (table[n] for n in names if isinstance(table.get(n), int))
    for below in table.values():
        if isinstance(below, dict):
            yield from _numbers(below, *names)


def _layers(eagle: Mapping[str, Any]) -> tuple[int, ...] | None:
    told = eagle.get("eagle_aux_hidden_state_layer_ids")
    if not isinstance(told, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in told):
        return None
    return tuple(told)
