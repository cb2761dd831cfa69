"""Which draft is of which target, as far as their configurations tell."""

from __future__ import annotations

from tokgate.records.inventory import ModelSeen
from tokgate.records.model import ModelConfig
from tokgate.rig.first.pairing import fit, is_draft, is_target, pairs


def model(path: str, architecture: str, *, gib: float = 1.0, **more: object) -> ModelSeen:
    names = ("hidden_size", "target_hidden_size", "vocab_size", "draft_vocab_size", "layers")
    config = ModelConfig(architectures=(architecture,), **{k: more.pop(k) for k in names if k in more})
    return ModelSeen(path=path, found_by="a test", config=config, weight_bytes=int(gib * 2**30), **more)


LLAMA = model("/m/llama-3.1-8b", "LlamaForCausalLM", gib=15, hidden_size=4096, vocab_size=128256)
QWEN = model("/m/qwen3-8b", "Qwen3ForCausalLM", gib=16, hidden_size=4096, vocab_size=151936)
DRAFT = model(
    "/m/llama-eagle3", "LlamaForCausalLMEagle3", hidden_size=4096, vocab_size=128256, draft_vocab_size=32000
)


def test_a_draft_is_told_from_targets_and_from_other_heads() -> None:
    assert is_draft(DRAFT)
    assert not is_target(DRAFT)
    assert is_draft(model("/m/k", "Eagle3DeepseekV2ForCausalLM"))
    for name in ("LlamaForCausalLMEagle", "DeepseekV3ForCausalLMNextN", "Qwen3_5MTP"):
        assert not is_draft(model("/m/h", name))
        assert not is_target(model("/m/h", name))
    assert not is_target(model("/m/e", "BertModel"))
    assert is_target(model("/m/k", "KimiK25ForConditionalGeneration"))


def test_a_draft_fits_by_hidden_size_and_vocabulary() -> None:
    assert fit(DRAFT, LLAMA).degree == 2
    assert fit(DRAFT, LLAMA).words == "hidden size 4096 and vocabulary 128256 are the target's"
    other = fit(DRAFT, QWEN)
    assert other.degree == 0
    assert "128256" in other.words
    assert "151936" in other.words


def test_a_narrow_draft_says_how_wide_its_target_is() -> None:
    narrow = model(
        "/m/d", "LlamaForCausalLMEagle3", hidden_size=2048, target_hidden_size=4096, vocab_size=128256
    )
    assert fit(narrow, LLAMA).degree == 2
    assert fit(model("/m/d", "LlamaForCausalLMEagle3", hidden_size=2048), LLAMA).degree == 0


def test_what_is_not_told_is_no_certainty() -> None:
    silent = model("/m/d", "LlamaForCausalLMEagle3", hidden_size=4096)
    assert fit(silent, LLAMA).degree == 1
    assert "vocabulary is not told" in fit(silent, LLAMA).words
    assert fit(model("/m/d", "LlamaForCausalLMEagle3"), LLAMA).degree == 0


def test_a_draft_that_names_its_target_is_of_that_one_alone() -> None:
    named = model("/m/s", "Eagle3Speculator", made_for="meta-llama/Llama-3.1-8B")
    cached = LLAMA.model_copy(update={"hub_name": "meta-llama/Llama-3.1-8B", "path": "/hub/x"})
    assert fit(named, cached).degree == 3
    assert fit(named, QWEN).degree == 0
    assert fit(named, LLAMA.model_copy(update={"path": "/models/llama-3.1-8b"})).degree == 3


def test_the_first_pair_is_what_a_first_gate_would_take() -> None:
    whole = LLAMA.model_copy(update={"path": "/m/llama-70b", "weight_bytes": 140 << 30})
    torn = LLAMA.model_copy(update={"path": "/m/llama-big", "weight_bytes": 141 << 30, "missing_files": 2})
    served = LLAMA.model_copy(update={"path": "/m/served", "found_by": "the running server, pid 7"})
    found = pairs([QWEN, torn, LLAMA, whole, DRAFT], memory_mib=200 * 1024)
    assert [p.target.path for p in found] == [
        "/m/llama-70b",
        "/m/llama-3.1-8b",
        "/m/qwen3-8b",
        "/m/llama-big",
    ]
    assert found[0].drafts[0][0] is DRAFT
    assert found[2].drafts == ()
    small = pairs([LLAMA, whole, DRAFT], memory_mib=100 * 1024)
    assert small[0].target is LLAMA  # what does not fit comes behind what does
    assert pairs([whole, served, DRAFT])[0].target is served


def test_of_two_drafts_that_fit_the_one_with_the_targets_name_comes_first() -> None:
    other = DRAFT.model_copy(update={"path": "/m/a-draft"})
    same = DRAFT.model_copy(update={"path": "/m/llama-3.1-8b-eagle3"})
    assert [d.path for d, _ in pairs([LLAMA, other, same])[0].drafts] == [same.path, other.path]
