"""Does an EAGLE-3 draft fit its target? Each rule is where SGLang 0.5.23 would stop, or go on wrongly.

Read in models/llama_eagle3.py (fc, embed_tokens, d2t) and speculative/eagle_worker_v2.py (hot tokens).
"""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig, ModelFolder

_ANOTHER = "name the draft that was trained for this target (arms.….draft_model_path)"
_EAGLE3 = "Eagle3"


def draft_fits(draft: ModelFolder, target: ModelConfig) -> Iterator[Remark]:
    """Yield what stands against it; nothing where everything that is told fits."""
    config = draft.config
    if config is None:
        return
    if config.architectures and not any(_EAGLE3.lower() in a.lower() for a in config.architectures):
        yield Remark.fail(
            f"its architecture is {', '.join(config.architectures)}: none of EAGLE-3",
            "name an EAGLE-3 draft: its config.json has an architecture such as LlamaForCausalLMEagle3",
        )
    fed = config.target_hidden_size or config.hidden_size
    if fed is not None and target.hidden_size is not None and fed != target.hidden_size:
        yield Remark.fail(
            f"it is made for hidden states of {fed}, the target has {target.hidden_size}", _ANOTHER
        )
    yield from _layers(config, target)
    yield from _vocabulary(draft, config, target)


def _layers(config: ModelConfig, target: ModelConfig) -> Iterator[Remark]:
    beyond = [i for i in config.aux_layers or () if target.layers is not None and not 0 <= i < target.layers]
    if beyond:
        yield Remark.fail(
            f"it takes hidden states of layers {', '.join(map(str, config.aux_layers or ()))}, "
            f"the target has {target.layers}",
            _ANOTHER,
        )


def _vocabulary(draft: ModelFolder, config: ModelConfig, target: ModelConfig) -> Iterator[Remark]:
    if config.vocab_size is None or target.vocab_size is None:
        return
    if config.vocab_size != target.vocab_size:
        yield Remark.fail(
            f"its vocabulary has {config.vocab_size} tokens, the target's {target.vocab_size}: ids would mean other words",
            _ANOTHER,
        )
    small = config.draft_vocab_size
    if small is not None and small > config.vocab_size:
        yield Remark.fail(
            f"draft_vocab_size is {small}, more than its vocabulary of {config.vocab_size}",
            "correct config.json of the draft",
        )
    if small is not None and small < config.vocab_size and draft.tensors and draft.hot_tokens is None:
        yield Remark.fail(
            f"it proposes {small} of {config.vocab_size} tokens, and no tensor d2t says which",
            "convert the draft again with its d2t map, or name another one",
        )
    if draft.hot_tokens is not None and draft.hot_tokens != (small or config.vocab_size):
        yield Remark.fail(
            f"its map d2t has {draft.hot_tokens} entries, draft_vocab_size says {small or config.vocab_size}",
            "take config.json and weights of the draft from the same place",
        )
    if draft.hot_token_max is not None and draft.hot_token_max >= target.vocab_size:
        yield Remark.fail(
            f"its map d2t names token {draft.hot_token_max}, the target's vocabulary ends at {target.vocab_size - 1}",
            _ANOTHER,
        )
