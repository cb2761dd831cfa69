"""Write the context pair: a target whose every word may hinge on its last 32 tokens, and a draft that knows only the walk.

The golden pair's attention adds nothing, so it cannot see a wrong position or a wrong KV slot. Here attention decides.
Each token carries two random bits. Layer l looks exactly 2^l tokens back through rotary attention, and its MLP multiplies
(as signs) what it finds there with its own: after `len(DISTANCES)` layers a position holds, per bit, the parity of the
last 2^len tokens. Tokens come in groups of four, one for each value of two bits. After an easy token the target says
the walk's successor, as the golden target does; after a "branch" token it says that member of the successor's group
which the parities choose. One wrong bit anywhere in those 32 tokens, or one position looked at instead of its
neighbour, changes what is said, and what is said changes everything after it.

Every choice is made with a margin far above bf16's rounding, so batch shape and summation order cannot change it:
outputs with and without speculation must be equal, and both equal to the prediction from truth.json. The draft says the
walk's successor after every token: right after easy tokens, and by chance (one in four) after branch tokens.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from checkpoint import Shape, Weights, idle_layer, write_checkpoint, write_truth
from distance import looking_back
from walking_draft import Codebook, draft_weights

CONSTANT = 16.0
BITS = 2
GROUP = 2**BITS
FIRST = 4  # 2044 tokens remain: whole groups
DISTANCES = (1, 2, 4, 8, 16)  # of layers 0, 1, ...: each doubles what a position has seen
SHARPNESS = 16.0  # slope of the MLP's steps; silu is a clean step from about 8 on
EASY_WEIGHT, PARITY_WEIGHT = (
    80.0,
    40.0,
)  # in units of one code dimension, of which the right group has about 350
SMALLEST_MARGIN = 40.0  # same units, between the right group and the next


class Layout:
    """Which hidden dimension carries what: 0 the constant, then codes, then the channels below."""

    def __init__(self, shape: Shape) -> None:
        channels = BITS * (2 * len(DISTANCES) + 1) + BITS + 1
        self.width = shape.hidden - 1 - channels
        start = 1 + self.width
        stages = len(DISTANCES) + 1
        self.parity = [[start + BITS * s + b for b in range(BITS)] for s in range(stages)]
        start += BITS * stages
        self.found = [[start + BITS * s + b for b in range(BITS)] for s in range(len(DISTANCES))]
        start += BITS * len(DISTANCES)
        self.easy = [start + b for b in range(BITS)]
        self.branch = start + BITS


def signs_of_members() -> Any:
    """Return [GROUP, BITS]: the two signs of each member of a group."""
    return torch.tensor([[1.0 - 2.0 * (m >> b & 1) for b in range(BITS)] for m in range(GROUP)])


def parity_layer(
    prefix: str, shape: Shape, layout: Layout, *, stage: int, square: float, generator: Any
) -> Weights:
    """Return the layer that multiplies each parity with the one found DISTANCES[stage] tokens back.

    `square` is the sum of squares of the residual stream coming in, the same at every position.
    """
    layer = idle_layer(prefix, shape, generator)
    rms_in = (square / shape.hidden) ** 0.5
    rms_mid = ((square + BITS) / shape.hidden) ** 0.5
    q = layer[f"{prefix}.self_attn.q_proj.weight"].view(shape.heads, shape.head_dim, shape.hidden)
    k = layer[f"{prefix}.self_attn.k_proj.weight"].view(shape.kv_heads, shape.head_dim, shape.hidden)
    v = layer[f"{prefix}.self_attn.v_proj.weight"].view(shape.kv_heads, shape.head_dim, shape.hidden)
    o = layer[f"{prefix}.self_attn.o_proj.weight"].view(shape.hidden, shape.heads, shape.head_dim)
    gate = layer[f"{prefix}.mlp.gate_proj.weight"]
    up = layer[f"{prefix}.mlp.up_proj.weight"]
    down = layer[f"{prefix}.mlp.down_proj.weight"]
    query, key = looking_back(shape, DISTANCES[stage])
    for bit in range(BITS):
        own, found, result = (
            layout.parity[stage][bit],
            layout.found[stage][bit],
            layout.parity[stage + 1][bit],
        )
        head = bit * (shape.heads // shape.kv_heads)
        q[head], k[bit], v[bit] = 0.0, 0.0, 0.0
        q[head, :, 0] = query * rms_in / CONSTANT
        k[bit, :, 0] = key * rms_in / CONSTANT
        v[bit, 0, own] = rms_in
        o[found, head, 0] = 1.0
        # own · found = 2 · [|own + found| > 1] - 1. The step is a difference of two silus, flat on both sides:
        # it restores the signs at every layer, so rounding does not add up.
        first = 5 * bit
        gate[first : first + 5] = 0.0
        up[first : first + 5] = 0.0
        up[first : first + 5, 0] = rms_mid / CONSTANT
        for neuron, (side, threshold, slope) in enumerate(
            [(1, 0.5, 1), (1, 1.5, -1), (-1, 0.5, 1), (-1, 1.5, -1)], start=first
        ):
            gate[neuron, [own, found]] = side * SHARPNESS * rms_mid
            gate[neuron, 0] = -threshold * SHARPNESS * rms_mid / CONSTANT
            down[result, neuron] = 2.0 * slope / SHARPNESS
        gate[first + 4, 0] = SHARPNESS * rms_mid / CONSTANT
        down[result, first + 4] = -1.0 / SHARPNESS
    return layer


def write_context_pair(out: Path, tokenizer: Path, shape: Shape, *, branch: float, seed: int = 0) -> float:
    """Write out/{model,draft,truth.json}; return the probability that a drafted token is right."""
    if shape.layers < len(DISTANCES) or (shape.vocab - FIRST) % GROUP or shape.kv_heads < BITS:
        raise ValueError(f"{shape} is too small for {len(DISTANCES)} parity layers of {BITS} bits")
    generator = torch.Generator().manual_seed(seed)
    layout = Layout(shape)
    vocab, width = shape.vocab, layout.width
    tokens = torch.arange(FIRST, vocab)
    codes = torch.randint(0, 2, (vocab, width), generator=generator).float() * 2 - 1
    bits = torch.randint(0, 2, (vocab, BITS), generator=generator).float() * 2 - 1
    walk = tokens[torch.randperm(len(tokens), generator=generator)]
    successor = torch.empty(vocab, dtype=torch.long)
    successor[walk] = walk.roll(-1)
    successor[:FIRST] = walk[:FIRST]
    members = tokens[torch.randperm(len(tokens), generator=generator)].view(-1, GROUP)
    group = torch.zeros(vocab, dtype=torch.long)
    member_signs = torch.zeros(vocab, BITS)
    for m, signs in enumerate(signs_of_members()):
        group[members[:, m]] = torch.arange(len(members))
        member_signs[members[:, m]] = signs
    is_branch = torch.rand(vocab, generator=generator) < branch

    embedding = torch.zeros(vocab, shape.hidden)
    embedding[:, 0] = CONSTANT
    embedding[:, 1 : width + 1] = codes
    embedding[:, layout.parity[0]] = bits
    embedding[:, layout.easy] = member_signs[successor] * ~is_branch[:, None]
    embedding[:, layout.branch] = is_branch * BITS**0.5  # keeps every row at the same length
    square = CONSTANT**2 + width + 2 * BITS
    book = Codebook(codes=codes, constant=CONSTANT, rms=(square / shape.hidden) ** 0.5)

    by_group = torch.zeros(len(members), width)
    by_group.index_add_(0, group[successor[tokens]], codes[tokens])
    scores = codes[tokens] @ by_group.T
    right = scores.gather(1, group[successor[tokens]][:, None])
    scores.scatter_(1, group[successor[tokens]][:, None], float("-inf"))
    margin = float((right - scores.max(1, keepdim=True).values).min())
    if margin < SMALLEST_MARGIN:
        raise ValueError(
            f"the codes of seed {seed} leave a margin of {margin:.0f}, wanted {SMALLEST_MARGIN:.0f}"
        )
    head = torch.zeros(vocab, shape.hidden)
    head[tokens, 1 : width + 1] = by_group[group[tokens]]
    for bit in range(BITS):
        head[tokens, layout.easy[bit]] = EASY_WEIGHT * member_signs[tokens, bit]
        head[tokens, layout.parity[-1][bit]] = PARITY_WEIGHT * member_signs[tokens, bit]

    target: Weights = {
        "model.embed_tokens.weight": embedding,
        "model.norm.weight": torch.ones(shape.hidden),
        "lm_head.weight": head,
    }
    for i in range(shape.layers):
        prefix = f"model.layers.{i}"
        if i < len(DISTANCES):
            # Each layer before has added BITS channels found and BITS results, all of them ±1.
            target |= parity_layer(
                prefix, shape, layout, stage=i, square=square + 2 * BITS * i, generator=generator
            )
        else:
            target |= idle_layer(prefix, shape, generator)
    draft = draft_weights(shape, book, successor, walk, generator)
    write_checkpoint(
        out / "model",
        target,
        shape,
        tokenizer=tokenizer,
        architecture="LlamaForCausalLM",
        layers=shape.layers,
    )
    write_checkpoint(
        out / "draft",
        draft,
        shape,
        tokenizer=tokenizer,
        architecture="LlamaForCausalLMEagle3",
        layers=1,
        draft_vocab_size=vocab,
    )
    write_truth(
        out,
        {
            "kind": "context",
            "walk": walk.tolist(),
            "branch": [t for t in tokens.tolist() if is_branch[t]],
            "groups": members.tolist(),
            "bits": bits.int().tolist(),
            "reach": 2 ** len(DISTANCES),
        },
    )
    easy = 1 - float(is_branch[tokens].float().mean())
    p: float = easy + (1 - easy) / GROUP
    return p


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("tokenizer", type=Path, help="a folder that make_tokenizer.py wrote")
    for field in fields(Shape):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    parser.add_argument(
        "--branch", type=float, default=0.4, help="share of tokens whose successor hinges on the context"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    shape = Shape(**{field.name: options[field.name] for field in fields(Shape)})
    p = write_context_pair(
        options["out"], options["tokenizer"], shape, branch=options["branch"], seed=options["seed"]
    )
    print(f"context pair in {options['out']}: a drafted token is right with p = {p:.4f}")


if __name__ == "__main__":
    main()
