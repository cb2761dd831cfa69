"""A tokenizer for clients that insist on one: 256 bytes, no merges, laid where the Hugging Face cache would have it.

The clients cut their prompts by it; how many tokens were generated they ask the server, whose own count is the only
one that means anything.
"""

from __future__ import annotations

import json
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".peers"
CACHE_HOME = CACHE / "hf"
NAME = "peers/bytes"
_COMMIT = "0" * 40
FOLDER = CACHE_HOME / "hub" / "models--peers--bytes" / "snapshots" / _COMMIT


def lay_tokenizer() -> None:
    """Write it, for use by NAME (offline, as if it had been downloaded) and by FOLDER."""
    # GPT-2's table: printable bytes stand for themselves, the others for what follows U+00FF.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    vocabulary = {chr(byte): byte for byte in printable}
    vocabulary |= {chr(256 + place): byte for place, byte in enumerate(others)}
    end = {"id": 256, "content": "<|end|>", "special": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    by_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    whole = {
        "version": "1.0",
        "added_tokens": [end | flags],
        "pre_tokenizer": by_bytes,
        "decoder": by_bytes,
        "model": {"type": "BPE", "vocab": vocabulary | {"<|end|>": 256}, "merges": []},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|end|>",
        "model_max_length": 100_000,
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "tokenizer.json").write_text(json.dumps(whole), encoding="utf-8")
    (FOLDER / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    reference = FOLDER.parents[1] / "refs" / "main"
    reference.parent.mkdir(exist_ok=True)
    reference.write_text(_COMMIT, encoding="utf-8")
