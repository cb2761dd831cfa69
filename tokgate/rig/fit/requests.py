"""Token ids, lengths and numbers of requests: does the model take what the workloads send it? Pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.sizes import argument, is_on
from tokgate.rig.workload import TextPrompts

# What a decode graph is captured up to, by version (SGLang 0.5.9; 0.5.16 and later).
_GRAPH_LIMITS = ("cuda_graph_max_bs", "cuda_graph_max_bs_decode")


def longest(rig: Rig, name: str) -> int | None:
    """Return the tokens of a prompt set's longest prompt; None: text, whose tokens only a tokenizer can count."""
    prompts = rig.prompt_sets[name]
    return None if isinstance(prompts, TextPrompts) else prompts.length


def asked_at_once(rig: Rig, arm: ArmSpec, text_tokens: dict[str, int]) -> int:
    """Return the tokens that the largest workload holds in the cache at once, drafts in flight included."""
    extra = arm.num_draft_tokens or 0
    return max(
        w.concurrency * ((longest(rig, w.prompts) or text_tokens.get(w.prompts, 0)) + w.output_tokens + extra)
        for w in rig.workloads
    )


def requests_fit(rig: Rig, arm: ArmSpec, config: ModelConfig) -> Iterator[Remark]:
    """Yield what the server would refuse, or die of."""
    yield from _ids(rig, config)
    yield from _lengths(rig, arm, config)
    yield from _streams(rig, arm)


def _ids(rig: Rig, config: ModelConfig) -> Iterator[Remark]:
    for name, prompts in rig.prompt_sets.items():
        if (
            isinstance(prompts, TextPrompts)
            or config.vocab_size is None
            or prompts.last_id < config.vocab_size
        ):
            continue
        yield Remark.fail(
            f"prompt set {name} asks for token ids up to {prompts.last_id}, the vocabulary ends at "
            f"{config.vocab_size - 1}: one such id takes the whole server down",
            f"prompt_sets.{name}.last_id = {config.vocab_size - 1}, or less",
        )


def _lengths(rig: Rig, arm: ArmSpec, config: ModelConfig) -> Iterator[Remark]:
    written = argument(rig, arm, "context_length")
    room = written if isinstance(written, int) else config.positions
    if room is None:
        return
    source = "context_length" if isinstance(written, int) else "max_position_embeddings"
    for w in rig.workloads:
        prompt = longest(rig, w.prompts)
        needed = (prompt or 0) + w.output_tokens
        if needed > room:
            yield Remark.fail(
                f"workload {w.name} needs {needed} tokens of context, {source} is {room}",
                "shorten the prompts or output_tokens, or raise server.args.context_length",
            )


def _streams(rig: Rig, arm: ArmSpec) -> Iterator[Remark]:
    most = max(rig.workloads, key=lambda w: w.concurrency)
    running = argument(rig, arm, "max_running_requests")
    if isinstance(running, int) and running < most.concurrency:
        yield Remark.fail(
            f"max_running_requests is {running}, workload {most.name} sends {most.concurrency} at once: "
            "some would only wait",
            f"raise it to {most.concurrency}, or lower the workload's concurrency",
        )
    if is_on(rig, arm, "disable_cuda_graph"):
        yield Remark.warn(
            "disable_cuda_graph is on: every step runs kernel by kernel, and speculation has lost to the plain server "
            "for that alone",
            "take it out, unless it is what is measured",
        )
        return
    for name in _GRAPH_LIMITS:
        limit = argument(rig, arm, name)
        if isinstance(limit, int) and limit < most.concurrency:
            yield Remark.warn(
                f"{name} is {limit}, workload {most.name} sends {most.concurrency} at once: its steps run without a graph",
                f"raise {name} to {most.concurrency}",
            )
