"""Drafts that do not fit their target, heads that do not divide, models too large, requests that would be refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.session.rigs import small_rig
from tokgate.records.doctor import Remark, State
from tokgate.records.model import ModelConfig, ModelFolder
from tokgate.rig.fit.chips import chip_runs
from tokgate.rig.fit.draft import draft_fits
from tokgate.rig.fit.heads import heads_divide
from tokgate.rig.fit.memory import GIB, Asked, kv_bytes_per_token, memory_fits
from tokgate.rig.fit.requests import requests_fit
from tokgate.rig.models import Rig

# Llama 3.1 8B, and the EAGLE-3 draft of it that proposes 32000 of its 128256 tokens.
TARGET = ModelConfig(
    architectures=("LlamaForCausalLM",),
    hidden_size=4096,
    layers=32,
    heads=32,
    kv_heads=8,
    head_dim=128,
    vocab_size=128256,
    positions=131072,
    dtype="bfloat16",
)
DRAFT = ModelConfig(
    architectures=("LlamaForCausalLMEagle3",),
    hidden_size=4096,
    layers=1,
    heads=32,
    kv_heads=8,
    head_dim=128,
    vocab_size=128256,
    draft_vocab_size=32000,
    aux_layers=(2, 16, 29),
)


def draft(config: dict[str, Any] | None = None, **folder: Any) -> ModelFolder:
    written: dict[str, Any] = {
        "path": "/models/draft",
        "here": True,
        "config": DRAFT.model_copy(update=config or {}),
        "tensors": {"d2t": (32000,), "fc.weight": (4096, 12288)},
        "hot_tokens": 32000,
        "hot_token_max": 128000,
    }
    return ModelFolder(**(written | folder))


def only(remarks: Iterable[Remark]) -> Remark:
    (one,) = remarks
    return one


def test_the_draft_of_this_target_has_nothing_against_it() -> None:
    assert list(draft_fits(draft(), TARGET)) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (draft({"hidden_size": 5120}), "it is made for hidden states of 5120, the target has 4096"),
        # Narrower than its target, and fed with the target's width: that is a fit.
        (draft({"target_hidden_size": 8192}), "it is made for hidden states of 8192, the target has 4096"),
        (
            draft({"architectures": ("LlamaForCausalLM",)}),
            "its architecture is LlamaForCausalLM: none of EAGLE-3",
        ),
        (draft({"aux_layers": (2, 30, 57)}), "it takes hidden states of layers 2, 30, 57, the target has 32"),
        (draft({"vocab_size": 151936}), "its vocabulary has 151936 tokens, the target's 128256"),
        (draft(hot_tokens=None), "it proposes 32000 of 128256 tokens, and no tensor d2t says which"),
        (draft(hot_tokens=16000), "its map d2t has 16000 entries, draft_vocab_size says 32000"),
        (
            draft(hot_token_max=128256),
            "its map d2t names token 128256, the target's vocabulary ends at 128255",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_draft_of_another_target_is_told_by_what_differs(broken: ModelFolder, said: str) -> None:
    found = only(draft_fits(broken, TARGET))
    assert found.state is State.FAIL
    assert found.found.startswith(said)
    assert found.do


def test_a_narrow_draft_fed_by_a_wide_target_fits() -> None:
    assert list(draft_fits(draft({"hidden_size": 2048, "target_hidden_size": 4096}), TARGET)) == []


def test_what_nobody_tells_is_not_held_against_a_draft() -> None:
    assert list(draft_fits(draft(tensors={}, hot_tokens=None, hot_token_max=None), ModelConfig())) == []


@pytest.mark.parametrize(
    ("tp", "state", "said"),
    [
        (3, State.FAIL, "32 attention heads cannot be shared by tp_size = 3"),
        (16, State.NOTE, "8 KV heads on 16 ranks: each rank keeps a whole one, 2 times over"),
    ],
)
def test_heads(tp: int, state: State, said: str) -> None:
    found = next(iter(heads_divide(TARGET, tp)))
    assert (found.state, found.found) == (state, said)


def test_heads_that_divide() -> None:
    assert list(heads_divide(TARGET, 8)) == []
    # 12 KV heads on 8 ranks: the heads divide, the KV heads do not.
    wide = TARGET.model_copy(update={"heads": 48, "kv_heads": 12})
    assert only(heads_divide(wide, 8)).found.startswith("12 KV heads and tp_size = 8: neither divides")
    # A latent cache has no heads to share.
    assert list(heads_divide(wide.model_copy(update={"mla_width": 576}), 8)) == []


def asked(**changes: Any) -> Asked:
    written: dict[str, Any] = {
        "gpu_bytes": 80 * GIB,
        "weight_bytes": 16 * GIB,
        "ranks": 1,
        "tp": 1,
        "fraction": 0.85,
        "kv_bytes": 2,
        "tokens": 4096,
    }
    return Asked(**(written | changes))


def test_kv_of_a_token() -> None:
    # 32 layers x (K and V) x 8 heads x 128 x 2 bytes = 128 KiB; a quarter of it on each of four ranks.
    assert kv_bytes_per_token(TARGET, asked()) == 128 * 1024
    assert kv_bytes_per_token(TARGET, asked(tp=4)) == 32 * 1024
    # DeepSeek V3's latent cache: 61 layers x 576 values, the same in every rank.
    latent = ModelConfig(layers=61, mla_width=576)
    assert kv_bytes_per_token(latent, asked(tp=8)) == 61 * 576 * 2
    assert kv_bytes_per_token(ModelConfig(layers=61), asked()) is None


def test_a_model_that_fits_shows_its_sum() -> None:
    found = only(memory_fits(TARGET, asked()))
    assert found.state is State.OK
    # (80 x 0.85 - 16) GiB / 128 KiB
    assert found.found == (
        "weights 16.0 GiB / 1 = 16.0 GiB a GPU; mem_fraction_static 0.85 of 80.0 GiB is 68.0 GiB; KV 128.0 KiB a token: "
        "about 425,984 tokens, 4,096 needed at once"
    )


@pytest.mark.parametrize(
    ("wanted", "state", "said"),
    [
        (asked(weight_bytes=140 * GIB, ranks=2), State.FAIL, "the weights alone do not fit"),
        (asked(weight_bytes=67 * GIB, tokens=9000), State.FAIL, "requests would wait for each other"),
        (
            asked(fraction=0.99),
            State.WARN,
            "0.8 GiB are left for activations and graphs, SGLang itself would leave 3.6 GiB",
        ),
        (asked(fraction=None), State.OK, "what SGLang leaves of 80.0 GiB is 76.4 GiB"),
    ],
)
def test_models_that_do_not_fit(wanted: Asked, state: State, said: str) -> None:
    found = only(memory_fits(TARGET, wanted))
    assert found.state is state
    assert said in found.found


def test_a_model_that_does_not_tell_its_cache_is_unknown() -> None:
    assert only(memory_fits(ModelConfig(), asked())).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("capability", "quantization", "kv_dtype", "state", "said"),
    [
        (7.0, None, None, State.FAIL, "compute capability 7: SGLang supports 7.5 and above"),
        (
            8.6,
            None,
            "fp8_e4m3",
            State.FAIL,
            "kv_cache_dtype fp8_e4m3 needs compute capability 8.9, these GPUs have 8.6",
        ),
        (8.6, "w8a8_fp8", None, State.FAIL, "w8a8_fp8 needs compute capability 8.9, these GPUs have 8.6"),
        (
            7.5,
            None,
            None,
            State.WARN,
            "compute capability 7.5 has no bfloat16: SGLang takes float16 in its stead",
        ),
    ],
)
def test_chips_that_do_not_run_it(
    capability: float, quantization: str | None, kv_dtype: str | None, state: State, said: str
) -> None:
    found = only(chip_runs(TARGET, capability, quantization=quantization, kv_dtype=kv_dtype))
    assert (found.state, found.found) == (state, said)


def test_chips_that_run_it() -> None:
    four_bits = TARGET.model_copy(update={"quantization": "compressed-tensors, 4 bits"})
    assert list(chip_runs(four_bits, 12.0, quantization=None, kv_dtype="fp8_e5m2")) == []
    # The file's own word counts where the rig has none.
    eight = TARGET.model_copy(update={"quantization": "modelopt-fp8"})
    assert only(chip_runs(eight, 8.0, quantization=None, kv_dtype=None)).found.startswith(
        "modelopt_fp8 needs"
    )


def rig(**args: Any) -> Rig:
    made = small_rig()
    return made.model_copy(update={"server": made.server.model_copy(update={"args": args})})


@pytest.mark.parametrize(
    ("args", "config", "state", "said"),
    [
        (
            {},
            {"vocab_size": 99},
            State.FAIL,
            "prompt set ids asks for token ids up to 99, the vocabulary ends at 98",
        ),
        (
            {},
            {"positions": 20},
            State.FAIL,
            "workload single needs 24 tokens of context, max_position_embeddings is 20",
        ),
        (
            {"context_length": 20},
            {},
            State.FAIL,
            "workload single needs 24 tokens of context, context_length is 20",
        ),
        (
            {"max_running_requests": 2},
            {},
            State.FAIL,
            "max_running_requests is 2, workload conc4 sends 4 at once",
        ),
        (
            {"cuda_graph_max_bs_decode": 2},
            {},
            State.WARN,
            "cuda_graph_max_bs_decode is 2, workload conc4 sends 4",
        ),
        (
            {"disable_cuda_graph": True},
            {},
            State.WARN,
            "disable_cuda_graph is on: every step runs kernel by kernel",
        ),
    ],
)
def test_requests_that_the_server_would_not_take(
    args: dict[str, Any], config: dict[str, Any], state: State, said: str
) -> None:
    asks = rig(**args)
    found = only(requests_fit(asks, asks.control, TARGET.model_copy(update=config)))
    assert found.state is state
    assert found.found.startswith(said)


def test_requests_that_it_takes() -> None:
    asks = rig(context_length=24, max_running_requests=4, cuda_graph_max_bs=4)
    assert list(requests_fit(asks, asks.control, TARGET)) == []
