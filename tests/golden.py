"""What a constructed pair will say, and how many of its drafts will be accepted: from truth.json alone.

Shares no code with rigs/sglang-cpu, which writes the pairs: this is the other side of the bargain.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Prediction:
    """One greedy request of n tokens with k draft steps in a chain.

    `histogram[i]` counts verify calls that accepted i drafts. The last call counts in full even when the request
    ends inside it; the first token comes from prefill and belongs to no call.
    """

    output_ids: tuple[int, ...]
    verify_ct: int
    histogram: tuple[int, ...]


class Pair(Protocol):
    """A target and a draft, each a pure function."""

    def says(self, history: Sequence[int]) -> int:
        """Return the target's next token after prompt and output so far."""

    def drafts(self, token: int) -> int | None:
        """Return what the draft says after `token`; None: something that the target does not say there."""


class GoldenPair:
    """The target walks a cycle; the draft errs after hard tokens."""

    def __init__(self, truth: dict[str, Any]) -> None:
        walk: list[int] = truth["walk"]
        self._next = dict(zip(walk, walk[1:] + walk[:1], strict=True))
        self._hard = frozenset(truth["hard"])

    def says(self, history: Sequence[int]) -> int:
        return self._next[history[-1]]

    def drafts(self, token: int) -> int | None:
        return None if token in self._hard else self._next[token]


class ContextPair:
    """After a branch token the parity of the last `reach` tokens' bits chooses among four; the draft only walks."""

    def __init__(self, truth: dict[str, Any]) -> None:
        walk: list[int] = truth["walk"]
        self._next = dict(zip(walk, walk[1:] + walk[:1], strict=True))
        self._branch = frozenset(truth["branch"])
        self._bits: list[list[int]] = truth["bits"]
        self.reach: int = truth["reach"]
        self._group: dict[int, list[int]] = {token: group for group in truth["groups"] for token in group}

    def says(self, history: Sequence[int]) -> int:
        if len(history) < self.reach:
            # Looking back past the first token has no exact answer.
            raise ValueError(f"a prediction needs {self.reach} tokens before it, got {len(history)}")
        last = history[-1]
        usual = self._next[last]
        if last not in self._branch:
            return usual
        seen = history[-self.reach :]
        parities = (prod(self._bits[token][bit] for token in seen) for bit in range(len(self._bits[last])))
        return self._group[usual][sum(1 << bit for bit, sign in enumerate(parities) if sign < 0)]

    def drafts(self, token: int) -> int | None:
        return self._next[token]


def load_pair(folder: Path) -> Pair:
    """Read folder/truth.json."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    kinds: dict[str, type[GoldenPair | ContextPair]] = {"golden": GoldenPair, "context": ContextPair}
    return kinds[truth["kind"]](truth)


def predict(pair: Pair, prompt: Sequence[int], *, tokens: int, draft_steps: int) -> Prediction:
    """Walk through one greedy request as the engine will."""
    history = list(prompt)
    for _ in range(tokens + draft_steps):
        history.append(pair.says(history))
    output = history[len(prompt) :]
    histogram = [0] * (draft_steps + 1)
    done = 1
    while done < tokens:
        token, accepted = output[done - 1], 0
        while accepted < draft_steps and pair.drafts(token) == output[done + accepted]:
            token = output[done + accepted]
            accepted += 1
        histogram[accepted] += 1
        done += accepted + 1
    return Prediction(tuple(output[:tokens]), sum(histogram), tuple(histogram))
