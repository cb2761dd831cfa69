"""How many draft tokens a verify accepts: fixed by the prompt, so that two runs of one prompt agree exactly.

Every position of an answer is easy with chance p (the prompt's own, near `accept_p`); a verify at position j
accepts the easy positions from j on, at most as many as were drafted. Its mean is 1 + p + p^2 for two steps: 1.85
at p = 0.5488. SGLANG_SIMULATE_ACC_LEN pins it as SGLang does.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from simbox.knobs import Knobs


@dataclass(frozen=True)
class Pin:
    """SGLANG_SIMULATE_ACC_LEN and its method; `real_tokens`: the output keeps its tokens."""

    length: float
    method: str
    real_tokens: bool


def pin(environment: Mapping[str, str]) -> Pin | None:
    """Read the variables that pin acceptance; None: natural."""
    try:
        length = float(environment.get("SGLANG_SIMULATE_ACC_LEN", "-1"))
    except ValueError:
        return None
    if length <= 0:
        return None
    method = environment.get("SGLANG_SIMULATE_ACC_METHOD", "match-expected")
    mode = environment.get("SGLANG_SIMULATE_ACC_TOKEN_MODE", "")
    return Pin(length=length, method=method, real_tokens=mode == "real-draft-token")


class Acceptance:
    """The acceptance of one request, verify by verify."""

    def __init__(
        self, knobs: Knobs, *, prompt_seed: int, steps: int, topk: int = 1, pinned: Pin | None = None
    ) -> None:
        self._steps = steps
        self._pin = pinned
        self._random = random.Random(f"accept/{prompt_seed}")  # noqa: S311 - fixed by the prompt
        own = knobs.accept_p + self._random.uniform(-1, 1) * knobs.accept_wobble
        # A tree offers siblings where a chain offers one token.
        self._p = 1 - (1 - min(1.0, max(0.0, own))) ** (1 + 0.4 * (topk - 1))
        self._easy: list[bool] = []

    def accepted(self, position: int) -> int:
        """Draft tokens accepted by the verify whose first output token is number `position` (0-based)."""
        if self._pin is not None:
            return self._pinned(self._pin) - 1
        while len(self._easy) < position + self._steps:
            self._easy.append(self._random.random() < self._p)
        count = 0
        while count < self._steps and self._easy[position + count]:
            count += 1
        return count

    def _pinned(self, pinned: Pin) -> int:
        most = self._steps + 1
        if pinned.method == "multinomial":
            return round(min(most, max(1.0, self._random.gauss(pinned.length, 1.0))))
        length = max(1.0, min(most, pinned.length))
        return min(most, int(length) + (self._random.random() < length % 1))
