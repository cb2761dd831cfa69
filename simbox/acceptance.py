"""How many draft tokens a verify accepts: fixed by the prompt, so that two runs of one prompt agree exactly.

The target agrees with the next draft token with chance p (the prompt's own, near `accept_p`), so the mean accept
length is 1 + p + p^2 for two steps: 1.85 at p = 0.5488. A tree offers b = min(topk, (draft tokens - 1) / steps)
siblings a step where a chain offers one token: p becomes 1 - (1 - p) ** (1 + 0.4 (b - 1)). The draws are even over
every `accept_block` verifies (one from each of as many equal parts of 0 to 1, shuffled), so that a handful of short
answers says what hundreds of long ones would. SGLANG_SIMULATE_ACC_LEN pins it as SGLang does.
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
        self,
        knobs: Knobs,
        *,
        prompt_seed: int,
        steps: int,
        topk: int = 1,
        draft_tokens: int = 0,
        pinned: Pin | None = None,
    ) -> None:
        """`draft_tokens`: what one cycle verifies, the root included; 0: as many as a whole tree has."""
        self._steps = steps
        self._pin = pinned
        self._random = random.Random(f"accept/{prompt_seed}")  # noqa: S311 - fixed by the prompt
        own = knobs.accept_p + self._random.uniform(-1, 1) * knobs.accept_wobble
        siblings = min(topk, max(1.0, (draft_tokens - 1) / steps)) if draft_tokens and steps else topk
        self._p = 1 - (1 - min(1.0, max(0.0, own))) ** (1 + 0.4 * (siblings - 1))
        self._block = knobs.accept_block
        self._draws: list[float] = []

    def accepted(self) -> int:
        """Return the draft tokens that the next verify accepts."""
        if self._pin is not None:
            return self._pinned(self._pin) - 1
        if not self._draws:
            self._draws = [(part + self._random.random()) / self._block for part in range(self._block)]
            self._random.shuffle(self._draws)
        draw, count = self._draws.pop(), 0
        while count < self._steps and draw < self._p ** (count + 1):
            count += 1
        return count

    def _pinned(self, pinned: Pin) -> int:
        most = self._steps + 1
        if pinned.method == "multinomial":
            return round(min(most, max(1.0, self._random.gauss(pinned.length, 1.0))))
        length = max(1.0, min(most, pinned.length))
        return min(most, int(length) + (self._random.random() < length % 1))
