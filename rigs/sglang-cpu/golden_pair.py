"""Write the golden pair: a Llama target and an EAGLE-3 draft whose acceptance is known beforehand.

The target walks one fixed cycle through the vocabulary: after token t it always says the same successor. Its attention
and MLP add nothing to the result and cost what they always cost. The draft knows the walk too, but says something wrong
after a chosen share of "hard" tokens. Under greedy decoding each drafted token is therefore right with probability `p`,
and k draft steps accept 1 + p + p² + … + p^k tokens a verify call on average; which ones exactly follows from truth.json.
Output with and without speculation must be identical, token for token. No training, no download: seconds.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

import torch
from checkpoint import Shape, idle_layer, write_checkpoint, write_truth
from walking_draft import Codebook, draft_weights

CONSTANT = 16.0  # large against the ±1 of the code, so that q and k made of it are large too


def write_golden_pair(
    out: Path, tokenizer: Path, shape: Shape, *, p: float, first: int = 3, seed: int = 0
) -> float:
    """Write out/{model,draft,truth.json}; return the share of easy tokens. Ids below `first` stay out of the walk."""
    generator = torch.Generator().manual_seed(seed)
    width = min(shape.hidden - 1, shape.kv_heads * shape.head_dim)
    codes = torch.randint(0, 2, (shape.vocab, width), generator=generator).float() * 2 - 1
    book = Codebook(codes=codes, constant=CONSTANT, rms=((CONSTANT**2 + width) / shape.hidden) ** 0.5)
    walk = torch.randperm(shape.vocab - first, generator=generator) + first
    successor = torch.empty(shape.vocab, dtype=torch.long)
    successor[walk] = walk.roll(-1)
    successor[:first] = walk[:first]  # whatever a special token is followed by, it is on the walk
    wanted = round((1 - p) * len(walk))
    hard = walk[torch.randperm(len(walk), generator=generator)[:wanted]]
    said = successor.clone()
    said[hard] = successor[hard.roll(1)]  # wrong, and still one-to-one

    embedding = torch.zeros(shape.vocab, shape.hidden)
    embedding[:, 0] = CONSTANT
    embedding[:, 1 : width + 1] = codes
    head = torch.zeros(shape.vocab, shape.hidden)
    head[successor[walk], 1 : width + 1] = codes[walk]
    target = {
        "model.embed_tokens.weight": embedding,
        "model.norm.weight": torch.ones(shape.hidden),
        "lm_head.weight": head,
    }
    for i in range(shape.layers):
        target |= idle_layer(f"model.layers.{i}", shape, generator)
    draft = draft_weights(shape, book, said, walk, generator)
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
        draft_vocab_size=shape.vocab,
    )
    write_truth(out, {"kind": "golden", "walk": walk.tolist(), "hard": sorted(hard.tolist())})
    return 1 - len(hard) / len(walk)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("tokenizer", type=Path, help="a folder that make_tokenizer.py wrote")
    for field in fields(Shape):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    parser.add_argument("--p", type=float, default=0.55, help="probability that a drafted token is right")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    shape = Shape(**{field.name: options[field.name] for field in fields(Shape)})
    p = write_golden_pair(options["out"], options["tokenizer"], shape, p=options["p"], seed=options["seed"])
    print(f"golden pair in {options['out']}: a drafted token is right with p = {p:.4f}")


if __name__ == "__main__":
    main()
