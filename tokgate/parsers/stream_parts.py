"""Values that a stream repeats longer each time, or sends piece by piece: which of the two, and the whole."""

from __future__ import annotations

from typing import Generic, TypeVar

from .foreign_json import count, number

T = TypeVar("T")
TopLogprobs = tuple[tuple[tuple[float, int], ...], ...]


class Growing(Generic[T]):
    """One entry per token. The token counts tell a cumulative stream from an incremental one."""

    def __init__(self) -> None:
        self._last: tuple[T, ...] | None = None
        self._joined: list[T] = []
        self._cumulative = True
        self._incremental = True

    def add(self, items: tuple[T, ...], *, before: int, total: int | None) -> None:
        """Take the entries of one event; `before` and `total` are the tokens before it and after it."""
        previous = self._last or ()
        if self._cumulative:
            # May be ahead of the count: the server goes on adding to the list it is about to write.
            longer = len(items) >= (len(previous) if total is None else total)
            self._cumulative = longer and items[: len(previous)] == previous
        if self._incremental:
            self._incremental = total is None or len(items) == total - before
            self._joined.extend(items)
        self._last = items

    @property
    def cumulative(self) -> bool | None:
        """None while one event could still be either."""
        return None if self._cumulative is self._incremental else self._cumulative

    def value(self) -> tuple[T, ...] | None:
        """Return the whole; None when nothing came, or when the counts fit neither way."""
        if self._last is None or not (self._cumulative or self._incremental):
            return None
        return self._last if self._cumulative else tuple(self._joined)


class GrowingText:
    def __init__(self) -> None:
        self._last: str | None = None
        self._parts: list[str] = []
        self._cumulative = True

    def add(self, text: str) -> None:
        if self._last is not None and not text.startswith(self._last):
            self._cumulative = False
        self._last = text
        self._parts.append(text)

    def value(self, *, cumulative: bool | None) -> str | None:
        """Return the whole; `cumulative` is what the token ids of the same stream say, if anything."""
        if self._last is None:
            return None
        decided = self._cumulative if cumulative is None else cumulative
        return self._last if decided else "".join(self._parts)


def top_logprobs(positions: tuple[object, ...] | None) -> tuple[TopLogprobs | None, str | None]:
    """Return (log-probability, id) per position, best first, and why there are none.

    SGLang writes [[log-probability, id, text or null], …] per position.
    """
    if not positions:
        return None, None
    read = []
    for index, position in enumerate(positions):
        pairs = _pairs(position)
        if pairs is None:
            return None, f"output_top_logprobs[{index}] is no list of [log-probability, id, …]"
        read.append(tuple(sorted(pairs, key=lambda pair: -pair[0])))
    return tuple(read), None


def _pairs(position: object) -> list[tuple[float, int]] | None:
    if not isinstance(position, list) or not position:
        return None
    pairs: list[tuple[float, int]] = []
    for entry in position:
        if not isinstance(entry, list) or len(entry) < 2:
            return None
        logprob, token = number(entry[0]), count(entry[1])
        if logprob is None or token is None:
            return None
        pairs.append((logprob, token))
    return pairs
