"""The radix cache as far as it shows: how many tokens of a prompt need no prefill."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

_KEPT = 512


class PrefixCache:
    """Remembers the last prompts; of a prompt at least one token is always computed."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._prompts: OrderedDict[tuple[int, ...], None] = OrderedDict()

    def match(self, prompt: Sequence[int]) -> int:
        """Return the length of the longest known prefix."""
        best = 0
        for known in self._prompts:
            if known[0] == prompt[0]:
                same = 0
                for a, b in zip(known, prompt, strict=False):
                    if a != b:
                        break
                    same += 1
                best = max(best, same)
        return min(best, len(prompt) - 1)

    def insert(self, prompt: Sequence[int]) -> None:
        if self._enabled:
            self._prompts[tuple(prompt)] = None
            if len(self._prompts) > _KEPT:
                self._prompts.popitem(last=False)

    def flush(self) -> None:
        self._prompts.clear()
