"""Tokens without a tokenizer: texts become ids, ids become words, and every prompt has one fixed answer."""

from __future__ import annotations

import functools
import hashlib
import random
import re
from collections.abc import Sequence

VOCABULARY = 163840  # Kimi's
FIRST_WORD = 1000  # below: reserved, as in real vocabularies
PINNED_TOKEN = 100  # what a pinned server puts in place of every token
_PIECES = re.compile(r"\w{1,6}|[^\w\s]|\s\s+")
_SYLLABLES = ("ba", "do", "ki", "lu", "me", "na", "po", "ra", "si", "to", "un", "ve", "wi", "xa", "yo", "ze")


def tokenize(text: str) -> list[int]:
    """Turn a text into ids: words in pieces of six letters, marks, runs of blanks."""
    return [_id_of(piece) for piece in _PIECES.findall(text)] or [FIRST_WORD]


@functools.lru_cache(maxsize=65536)
def _id_of(piece: str) -> int:
    number = int.from_bytes(hashlib.blake2s(piece.encode(), digest_size=4).digest(), "big")
    return FIRST_WORD + number % (VOCABULARY - FIRST_WORD)


@functools.lru_cache(maxsize=65536)
def word(token: int) -> str:
    """Return the text of one token, blank in front, plain ASCII."""
    return " " + "".join(_SYLLABLES[(token >> shift) & 15] for shift in (0, 4, 8))


def prompt_seed(ids: Sequence[int], draft: str = "") -> int:
    """Return a number that stands for this prompt (and this drafter)."""
    packed = b"".join(i.to_bytes(4, "big") for i in ids) + draft.encode()
    return int.from_bytes(hashlib.blake2s(packed, digest_size=8).digest(), "big")


class Answer:
    """The endless answer to one prompt; greedy decoding always finds the same one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"answer/{seed}")  # noqa: S311 - fixed by the prompt
        self._tokens: list[int] = []

    def tokens(self, start: int, count: int) -> list[int]:
        """Return `count` tokens from number `start` on."""
        while len(self._tokens) < start + count:
            self._tokens.append(self._random.randrange(FIRST_WORD, VOCABULARY))
        return self._tokens[start : start + count]
