"""What lies in the folders of models: configuration, weights by size, tokenizer, and the shapes of a draft's tensors."""

from __future__ import annotations

import array
import json
import struct
import sys
from pathlib import Path
from typing import Any

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "tiktoken.model",
    "tekken.json",
)
LARGEST_TEXT = 4 << 20
# A header names every tensor of its file; that of a draft has a few dozen.
LARGEST_HEADER = 32 << 20
LARGEST_MAP = 64 << 20
NAMED = 10


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"folders": {key: path}, "tensors_of": [key, ...]} -> {key: what is there}."""
    return {
        key: look(Path(path).expanduser(), tensors=key in argument["tensors_of"])
        for key, path in argument["folders"].items()
    }


def look(folder: Path, *, tensors: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"here": False, "why": None, "config": None, "why_no_config": None, "weights": []}
    found.update({"missing": [], "tokenizer": [], "tensors": {}, "hot_tokens": None, "hot_token_max": None})
    found["why_no_tensors"] = None
    try:
        names = sorted(p.name for p in folder.iterdir())
    except OSError as error:
        found["why"] = error.strerror or str(error)
        return found
    found["here"] = True
    try:
        found["config"] = read(folder / "config.json")
    except OSError as error:
        found["why_no_config"] = error.strerror or str(error)
    found["weights"] = weights(folder, names, found["missing"])
    found["missing"] += indexed(folder, names)
    found["tokenizer"] = [n for n in TOKENIZERS if n in names]
    if tensors:
        try:
            shapes(folder, [n for n in names if n.endswith(".safetensors")], found)
        except (OSError, ValueError, KeyError, struct.error) as error:
            found["why_no_tensors"] = str(error)
    return found


def read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LARGEST_TEXT).decode("utf-8", errors="backslashreplace")


def weights(folder: Path, names: list[str], missing: list[str]) -> list[list[Any]]:
    """Return name and bytes of each file of weights; what cannot be opened is added to `missing`."""
    found = []
    for name in names:
        if not name.endswith(WEIGHTS):
            continue
        try:
            with (folder / name).open("rb"):
                found.append([name, (folder / name).stat().st_size])
        except OSError as error:
            missing.append(f"{name} ({error.strerror})")
    return found


def indexed(folder: Path, names: list[str]) -> list[str]:
    """Return the files that the index of the weights names and that are not there."""
    for name in INDEXES:
        if name in names:
            try:
                told = json.loads(read(folder / name))["weight_map"].values()
            except (OSError, ValueError, KeyError, AttributeError) as error:
                return [f"{name}: {error!r}"]
            gone = sorted(set(map(str, told)) - set(names))
            return gone[:NAMED] + ([f"and {len(gone) - NAMED} more"] if len(gone) > NAMED else [])
    return []


def shapes(folder: Path, files: list[str], found: dict[str, Any]) -> None:
    """Read the tables in front of the tensors, and the map of hot tokens itself, which is small."""
    if not files:
        found["why_no_tensors"] = (
            "no safetensors files: other kinds tell their shapes only when they are loaded"
        )
    for name in files:
        with (folder / name).open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > LARGEST_HEADER:
                raise ValueError(f"{name} has a header of {length} bytes")
            header = json.loads(file.read(length))
            for tensor, row in header.items():
                if tensor == "__metadata__":
                    continue
                found["tensors"][tensor] = row["shape"]
                if tensor.rpartition(".")[2] == "d2t" and row["dtype"] in ("I64", "I32"):
                    hot_tokens(file, 8 + length, row, found)


def hot_tokens(file: Any, begin: int, row: dict[str, Any], found: dict[str, Any]) -> None:
    """d2t holds, for each id of the draft, how much larger the target's id is (SGLang llama_eagle3.py, load_weights)."""
    first, end = row["data_offsets"]
    if end - first > LARGEST_MAP:
        return
    file.seek(begin + first)
    values = array.array("q" if row["dtype"] == "I64" else "i")
    values.frombytes(file.read(end - first))
    if sys.byteorder == "big":
        values.byteswap()
    found["hot_tokens"] = len(values)
    found["hot_token_max"] = max((i + value for i, value in enumerate(values)), default=None)
