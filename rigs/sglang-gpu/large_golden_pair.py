"""Write the golden pair (rigs/sglang-cpu/golden_pair.py) in the shape of an 8B Llama: acceptance known, and GPU-bound.

    PYTHONPATH=SITE python3 rigs/sglang-gpu/large_golden_pair.py OUT [--layers 32] [--p 0.55]

What decides is written as on the CPU rig. The layers between, which only cost what layers cost, all hold the same numbers, drawn
once: 9 GB are then a matter of seconds, whatever the machine. Their output projections are zero and lie in the file as
holes. One file a layer, since a file of safetensors cannot be written piecemeal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sglang-cpu"))
from checkpoint import Shape, Weights, idle_layer
from golden_pair import write_golden_pair
from make_tokenizer import write_tokenizer

EIGHT_B = Shape(hidden=4096, layers=32, heads=32, kv_heads=8, intermediate=14336, vocab=32000)
WRITERS = 8
ALIGNED = 4096  # holes begin and end on blocks of the file system
_INDEX = "model.safetensors.index.json"


def write_large_pair(out: Path, shape: Shape, *, p: float, seed: int = 0) -> float:
    """Write out/{model,draft,truth.json}; return the probability that a drafted token is right."""
    tokenizer = out / "tokenizer"
    write_tokenizer(tokenizer)
    widen(tokenizer / "tokenizer.json", shape.vocab)
    right = write_golden_pair(out, tokenizer, replace(shape, layers=0), p=p, seed=seed)
    model = out / "model"
    ends = model / "model-ends.safetensors"
    (model / "model.safetensors").rename(ends)
    place = dict.fromkeys(_names(ends), ends.name)
    layer = {
        name: tensor.to(torch.bfloat16)
        for name, tensor in idle_layer("LAYER", shape, torch.Generator().manual_seed(seed)).items()
    }
    with ThreadPoolExecutor(WRITERS) as pool:
        for named in pool.map(lambda number: _write_layer(model, number, layer), range(shape.layers)):
            place |= named
    (model / _INDEX).write_text(json.dumps({"metadata": {}, "weight_map": place}) + "\n", encoding="utf-8")
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["num_hidden_layers"] = shape.layers
    (model / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return right


def widen(tokenizer: Path, vocab: int) -> None:
    """Give the tokenizer words up to `vocab` that no text is ever cut into: the model may say any of its ids."""
    content = json.loads(tokenizer.read_text(encoding="utf-8"))
    known = content["model"]["vocab"]
    known |= {f"token{number}": number for number in range(len(known), vocab)}
    tokenizer.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _write_layer(model: Path, number: int, layer: Weights) -> dict[str, str]:
    """Write one layer's file; return which tensor lies in which file."""
    named = {name.replace("LAYER", f"model.layers.{number}"): tensor for name, tensor in layer.items()}
    file = model / f"model-layer{number:03d}.safetensors"
    header, at = {}, 0
    for name, tensor in named.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    # The format allows blanks behind the header: they put the first tensor on a block of the file system.
    text = text.ljust(-(-(8 + len(text)) // ALIGNED) * ALIGNED - 8)
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for tensor in named.values():
            if bool(tensor.any()):
                out.write(memoryview(tensor.contiguous().view(torch.uint8).numpy()))
            else:
                out.seek(tensor.numel() * tensor.element_size(), os.SEEK_CUR)
        out.truncate(8 + len(text) + at)
    return dict.fromkeys(named, file.name)


def _names(file: Path) -> Iterator[str]:
    with file.open("rb") as content:
        (size,) = struct.unpack("<Q", content.read(8))
        header: dict[str, Any] = json.loads(content.read(size))
    yield from (name for name in header if name != "__metadata__")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    for field in fields(Shape):
        default = getattr(EIGHT_B, field.name)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--p", type=float, default=0.55, help="probability that a drafted token is right")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    out: Path = options["out"]
    half_made = out.with_name(f"{out.name}.new")
    shutil.rmtree(half_made, ignore_errors=True)
    began = time.monotonic()
    shape = Shape(**{field.name: options[field.name] for field in fields(Shape)})
    p = write_large_pair(half_made, shape, p=options["p"], seed=options["seed"])
    shutil.rmtree(out, ignore_errors=True)
    half_made.rename(out)
    print(f"golden pair in {out}: p = {p:.4f}, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
