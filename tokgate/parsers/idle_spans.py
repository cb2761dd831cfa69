"""Which decode lines count time in which nothing was decoded.

`gen throughput` is the tokens since the previous decode line of that scheduler over the wall time since
then, so after a prefill or a pause one line is false (0.39 tok/s between lines of 180). A line right
after a prefill always is. A pause without a prefill line (the decode side of a disaggregated pair, a cut
log, a stopped process) is told from a slow server by its neighbours: slowness lasts, a pause does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

# Well above what turning CUDA graphs off costs (2.5 to 3.8 times on an H200, and that lasts); a pause worth
# dropping a line for is far longer than the usual 40 steps.
GAP_FACTOR = 3.0
# The stamps have whole seconds: two of them one apart may be a millisecond apart.
GAP_SECONDS = 2.0


class Timing(NamedTuple):
    """What one decode line says about its time."""

    rank: str | None
    time_text: str | None
    step_time: float  # any unit, the same for all: running requests x accept length / throughput
    after_prefill: bool


class SincePrefill:
    """Keeps which schedulers have prefilled since their last decode line."""

    def __init__(self) -> None:
        self._pending: set[str | None] = set()
        self._someone = False  # a prefill of an unknown rank: then every rank's next line is suspect
        self._cleared: set[str | None] = set()

    def prefill(self, rank: str | None, *, rank_known: bool) -> None:
        if rank_known:
            self._pending.add(rank)
        else:
            self._someone, self._cleared = True, set()

    def decode(self, rank: str | None, *, rank_known: bool) -> bool:
        """Note a decode line and return whether its span may hold a prefill."""
        if not rank_known:
            return bool(self._pending) or self._someone
        after = rank in self._pending or (self._someone and rank not in self._cleared)
        self._pending.discard(rank)
        self._cleared.add(rank)
        return after


def find_gaps(lines: Sequence[Timing]) -> frozenset[int]:
    """Return the indices of lines that span a pause no prefill line explains."""
    gaps: set[int] = set()
    for rank in {line.rank for line in lines}:
        own = [index for index, line in enumerate(lines) if line.rank == rank]
        last_good: int | None = None
        for position, index in enumerate(own):
            line = lines[index]
            if line.after_prefill:
                continue
            following = own[position + 1] if position + 1 < len(own) else None
            if following is not None and lines[following].after_prefill:
                following = None
            neighbours = [lines[n].step_time for n in (last_good, following) if n is not None]
            before = lines[own[position - 1]] if position else None
            if neighbours and _paused(before, line) and line.step_time >= GAP_FACTOR * max(neighbours):
                gaps.add(index)
            else:
                last_good = index
    return frozenset(gaps)


def _paused(before: Timing | None, line: Timing) -> bool:
    """Whether the clock allows for a pause in front of `line`; an unknown clock does."""
    if before is None:
        return True
    earlier, later = _moment(before.time_text), _moment(line.time_text)
    if earlier is None or later is None:
        return True
    return (later - earlier).total_seconds() >= GAP_SECONDS


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat((text or "").replace(",", ".")).replace(tzinfo=UTC)
    except ValueError:
        return None
