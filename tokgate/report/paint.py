"""Colours of outcomes in a terminal."""

from __future__ import annotations

from .conclusion import NOTE

_COLOURS = {
    "pass": "32",
    "improved": "1;32",
    "regressed": "1;31",
    "invalid": "35",
    "inconclusive": "33",
    "no-baseline": "36",
    NOTE: "2",
    "error": "1;31",
    "interrupted": "1;31",
}


def shout(word: str) -> str:
    """Write in capitals what must not be overlooked."""
    return word.upper() if word in ("regressed", "invalid", "error", "interrupted") else word


def painted(text: str, word: str, *, colour: bool) -> str:
    return f"\x1b[{_COLOURS[word]}m{text}\x1b[0m" if colour else text
