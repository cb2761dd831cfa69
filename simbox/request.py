"""One generation on its way through the engine."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Protocol

from simbox.acceptance import Acceptance
from simbox.text import Answer, word


class Sink(Protocol):
    """Where a request's tokens go: an HTTP answer, or nowhere."""

    @property
    def closed(self) -> bool: ...

    def tokens(self, request: Request, new: Sequence[int]) -> bool:
        """Take new tokens; say whether something was put on the wire."""
        ...

    def cut(self) -> None:
        """Break the connection off."""
        ...


class Request:
    """Prompt, answer so far, and every stamp. Stamps are of time.monotonic_ns(); None: not yet."""

    def __init__(
        self,
        *,
        prompt: Sequence[int],
        max_new: int,
        sink: Sink,
        answer: Answer,
        acceptance: Acceptance | None,
        stream: bool,
    ) -> None:
        self.rid = uuid.uuid4().hex
        self.number = 0  # which generation of this server start, from 1
        self.prompt = tuple(prompt)
        self.max_new = max_new
        self.sink = sink
        self.answer = answer
        self.acceptance = acceptance
        self.stream = stream
        self.cached = 0
        self.output: list[int] = []
        self.text = ""
        self.ids_text = ""
        self.accepted: list[int] = []  # draft tokens accepted, one a verify
        self.received_wall = time.time()
        self.received_ns = time.monotonic_ns()
        self.entry_ns: int | None = None
        self.first_ns: int | None = None
        self.end_ns: int | None = None
        self.chunk_ns: list[int] = []
        self.late_us: list[int] = []

    @property
    def done(self) -> bool:
        return len(self.output) >= self.max_new

    def advance(self, drafts: int, *, pinned_token: int | None = None, corrupt_at: int = 0) -> Sequence[int]:
        """Take the next 1 + drafts tokens of the answer, as far as they were asked for."""
        start = len(self.output)
        new = self.answer.tokens(start, min(1 + drafts, self.max_new - start))
        if pinned_token is not None:
            new = [pinned_token] * len(new)
        if corrupt_at and start < corrupt_at <= start + len(new):
            new[corrupt_at - 1 - start] ^= 1
        self.output += new
        self.text += "".join(word(t) for t in new)
        more = ",".join(map(str, new))
        self.ids_text = f"{self.ids_text},{more}" if self.ids_text else more
        return new

    def wall(self, stamp_ns: int | None) -> float | None:
        """Turn a stamp into seconds since 1970, as SGLang's bodies have them."""
        return None if stamp_ns is None else self.received_wall + (stamp_ns - self.received_ns) / 1e9

    @property
    def histogram(self) -> list[int]:
        """How many verifies accepted 0, 1, 2 … draft tokens."""
        return [self.accepted.count(n) for n in range(max(self.accepted, default=-1) + 1)]
