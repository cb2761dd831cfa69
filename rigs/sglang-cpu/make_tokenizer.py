"""Write a small byte-level BPE tokenizer: real enough for chat and text prompts, made here, so nothing is downloaded."""

from __future__ import annotations

import json
import random
import string
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCAB = 2048
SPECIAL = ("<s>", "</s>", "<pad>")  # ids 0, 1, 2
CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def write_tokenizer(folder: Path, *, vocab: int = VOCAB) -> None:
    """Train on made-up words, always the same, and write tokenizer.json, its config and a generation config."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)  # noqa: S311 - made-up words, not secrets
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 8))) for _ in range(5000)]
    lines = [" ".join(draw.choices(words, k=50)) for _ in range(1000)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    if tokenizer.get_vocab_size() != vocab:
        raise ValueError(f"the training text gave {tokenizer.get_vocab_size()} tokens, not {vocab}")
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SPECIAL[0],
        "eos_token": SPECIAL[1],
        "pad_token": SPECIAL[2],
        "model_max_length": 8192,
        "chat_template": CHAT_TEMPLATE,
    }
    generation = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "do_sample": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings) + "\n", encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps(generation) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_tokenizer(Path(sys.argv[1]))
