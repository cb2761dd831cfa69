"""config.json as models really have it: flat, nested, quantized, of a draft, and broken."""

from __future__ import annotations

import json

import pytest

from tokgate.parsers.model_config import read_model_config


def test_a_plain_model() -> None:
    read = read_model_config(
        json.dumps(
            {
                "architectures": ["LlamaForCausalLM"],
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "vocab_size": 128256,
                "max_position_embeddings": 131072,
                "torch_dtype": "bfloat16",
            }
        )
    )
    assert read is not None
    assert (read.heads, read.kv_heads, read.head_dim, read.layers) == (32, 8, 128, 32)
    assert (read.vocab_size, read.positions, read.dtype) == (128256, 131072, "bfloat16")
    assert read.quantization is None
    assert read.unread == ()


def test_a_model_of_several_towers_with_a_latent_cache_and_four_bits() -> None:
    """As Kimi-K2.5 writes it: the language model below text_config."""
    text = {
        "hidden_size": 7168,
        "num_hidden_layers": 61,
        "num_attention_heads": 64,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "vocab_size": 163840,
        "quantization_config": {
            "quant_method": "compressed-tensors",
            "config_groups": {"group_0": {"weights": {"num_bits": 4}}},
        },
    }
    whole = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "auto_map": {"AutoConfig": "x.Y"},
        "text_config": text,
    }
    read = read_model_config(json.dumps(whole))
    assert read is not None
    assert read.architectures == ("KimiK25ForConditionalGeneration",)
    assert (read.hidden_size, read.layers, read.heads, read.vocab_size) == (7168, 61, 64, 163840)
    assert read.mla_width == 576
    assert read.quantization == "compressed-tensors, 4 bits"
    assert read.own_code


def test_a_draft() -> None:
    read = read_model_config(
        json.dumps(
            {
                "hidden_size": 2048,
                "target_hidden_size": 4096,
                "vocab_size": 128256,
                "draft_vocab_size": 32000,
                "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 15, 28]},
            }
        )
    )
    assert read is not None
    assert (read.target_hidden_size, read.draft_vocab_size, read.aux_layers) == (4096, 32000, (1, 15, 28))


def test_values_of_the_wrong_kind_are_kept_as_not_understood() -> None:
    read = read_model_config('{"hidden_size": "4096", "num_hidden_layers": -1, "vocab_size": true}')
    assert read is not None
    assert (read.hidden_size, read.layers, read.vocab_size) == (None, None, None)
    assert {u.text.split()[0] for u in read.unread} == {"hidden_size", "num_hidden_layers", "vocab_size"}


@pytest.mark.parametrize("text", ["", "not json", "[1]", '{"a":' * 5000, '"text"'])
def test_what_is_no_table_is_none(text: str) -> None:
    assert read_model_config(text) is None
