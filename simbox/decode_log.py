"""SGLang's line about decoding, every so many steps, and the gauges that are set with it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from simbox.counters import Counters
from simbox.server_log import ServerLog


class DecodeLog:
    """Counts from line to line. `lie`: line and gauges tell this many times the truth."""

    def __init__(
        self, log: ServerLog, counters: Counters, *, interval: int, draft_tokens: int, lie: float
    ) -> None:
        self._log, self._counters = log, counters
        self._interval, self._draft_tokens, self._lie = interval, draft_tokens, lie
        self._logged_ns, self._steps = time.monotonic_ns(), 0
        self._tokens = self._verifies = self._lengths = 0

    def step(
        self, *, batch: int, drafts: Mapping[str, int], graph: bool, used: int, usage: float, queued: int
    ) -> None:
        """Count one step; `drafts`: accepted draft tokens of each verified request."""
        self._tokens += batch + sum(drafts.values())
        self._verifies += len(drafts)
        self._lengths += len(drafts) + sum(drafts.values())
        self._steps += 1
        if self._steps % self._interval:
            return
        now = time.monotonic_ns()
        tok_s = self._tokens / ((now - self._logged_ns) / 1e9) * self._lie
        length = self._lengths / self._verifies if self._verifies else None
        self._log.decode(
            running=batch, tokens=used, usage=usage, spec=None if length is None else (length, self._draft_tokens),
            graph=graph, tok_s=tok_s, queued=queued,
        )  # fmt: skip
        self._counters.last_throughput = tok_s
        self._counters.spec_steps += self._verifies
        self._counters.spec_tokens += self._lengths
        self._counters.last_accept_length = (length or 0.0) * self._lie
        self._logged_ns = now
        self._tokens = self._verifies = self._lengths = 0
