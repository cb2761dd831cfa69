"""Which of the models on a host are EAGLE-3 drafts, which are targets, and which draft is of which target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tokgate.records.doctor import State
from tokgate.records.inventory import ModelSeen
from tokgate.records.model import ModelFolder
from tokgate.rig.fit.draft import draft_fits

# What SGLang 0.5.23 (srt/models/) and the speculators library call EAGLE-3: LlamaForCausalLMEagle3, Eagle3DeepseekV2ForCausalLM,
# Eagle3Speculator. An EAGLE or EAGLE-2 head (LlamaForCausalLMEagle) is another thing and another algorithm.
_EAGLE3 = re.compile(r"eagle-?3", re.IGNORECASE)
_HEADS = re.compile(r"eagle|nextn|mtp|medusa|speculator|dflash|dspark", re.IGNORECASE)
# What generates text; encoders, rewards and embeddings do not.
_GENERATES = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")


@dataclass(frozen=True)
class Fit:
    """`degree`: 3 the draft names the target itself, 2 all sizes are the target's, 1 as far as told, 0 not."""

    degree: int
    words: str


@dataclass(frozen=True)
class Pair:
    target: ModelSeen
    drafts: tuple[tuple[ModelSeen, Fit], ...]  # those that fit, the best first


def is_draft(model: ModelSeen) -> bool:
    return any(_EAGLE3.search(name) for name in model.config.architectures)


def is_target(model: ModelSeen) -> bool:
    """Say whether it generates text and is no head of another model."""
    return any(
        name.endswith(_GENERATES) and not _HEADS.search(name) for name in model.config.architectures
    ) and not is_draft(model)


def fit(draft: ModelSeen, target: ModelSeen) -> Fit:
    """Say how sure it is that a draft is of a target; `rig/fit/draft.py` has the rules, this ranks those that pass."""
    if draft.made_for is not None and _same(draft.made_for, target):
        return Fit(3, f"its own config.json names {draft.made_for}")
    folder = ModelFolder(path=draft.path, here=True, config=draft.config)
    against = next((r.found for r in draft_fits(folder, target.config) if r.state is State.FAIL), None)
    if against is not None:
        return Fit(0, against)
    fed, has = draft.config.target_hidden_size or draft.config.hidden_size, target.config.hidden_size
    if fed is None or has is None:
        return Fit(0, "a hidden size is not told")
    if draft.config.vocab_size is None or target.config.vocab_size is None:
        return Fit(1, f"hidden size {has} is the target's; the vocabulary is not told")
    return Fit(2, f"hidden size {has} and vocabulary {target.config.vocab_size} are the target's")


def pairs(models: Iterable[ModelSeen], *, memory_mib: float | None = None) -> tuple[Pair, ...]:
    """Return every target with the drafts that fit it; first what a first gate would take.

    Whole ones before those with missing weights, with a draft before those without, what a running server serves before
    the rest, then the largest that `memory_mib` of all GPUs can hold.
    """
    seen = list(models)
    drafts = [m for m in seen if is_draft(m)]
    found = [Pair(target, _fitting(drafts, target)) for target in seen if is_target(target)]

    def rank(pair: Pair) -> tuple[object, ...]:
        target = pair.target
        mib = target.weight_bytes / 2**20
        return (
            bool(target.missing_files),
            not pair.drafts,
            not target.found_by.startswith("the running server"),
            memory_mib is not None and mib > memory_mib,
            -mib,
            target.path,
        )

    return tuple(sorted(found, key=rank))


def _fitting(drafts: Sequence[ModelSeen], target: ModelSeen) -> tuple[tuple[ModelSeen, Fit], ...]:
    rated = [(draft, found) for draft in drafts if (found := fit(draft, target)).degree]
    return tuple(sorted(rated, key=lambda one: (-one[1].degree, -_alike(one[0], target), one[0].path)))


def _alike(draft: ModelSeen, target: ModelSeen) -> int:
    """Count the words that both names have: of two drafts that fit, kimi-k2.5-eagle3 is the one of kimi-k2.5-int4."""
    return len(_words(draft) & _words(target))


def _words(model: ModelSeen) -> set[str]:
    name = model.hub_name or "/".join(PurePosixPath(model.path).parts[-2:])
    return {w for w in re.split(r"[^a-z0-9.]+", name.lower()) if w and w != "eagle3"}


def _same(name: str, target: ModelSeen) -> bool:
    own = {target.path, target.hub_name, PurePosixPath(target.path).name}
    return (
        name in own
        or name.rpartition("/")[2].lower() == (target.hub_name or target.path).rpartition("/")[2].lower()
    )
