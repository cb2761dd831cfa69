"""Which rank speaks for a launch, and which the others wait for: in a verify the wait is everybody's but its own.

The ranks of a tensor-parallel server meet in every all-reduce, so a slow one lengthens the verify of all, and its own by
no more than theirs. What a rank does without meeting the others, here the two phases of the draft model, takes as long as
that rank is slow. Where the draft model is sharded too, nothing is found.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from tokgate.records.phases import Phase, PhaseReading
from tokgate.records.record import Record

ALONE = (Phase.DRAFT, Phase.DRAFT_EXTEND)
FEWEST_RANKS = 3  # of two it cannot be said which is the odd one
MORE = 0.05  # of the others' time; the spread of eight healthy ranks is 1 % (p50, a busy machine)
MORE_MS = 0.02


class SlowRank(Record):
    rank: int
    own_ms: tuple[float, float]  # p50 of draft and draft_extend, in the quietest start
    others_ms: tuple[float, float]  # the median rank of the others
    words: str


def slowest(readings: Iterable[PhaseReading]) -> PhaseReading | None:
    """Return the reading of the rank whose calls take longest in the middle (without one: on average); None of none.

    Checks and tables choose by this alone, so that they speak of the same rank.
    """
    return max(readings, key=lambda r: r.mean_ms if r.p50_ms is None else r.p50_ms, default=None)


def slow_rank(readings: Sequence[PhaseReading]) -> SlowRank | None:
    """Return the one rank whose draft and draft_extend both stand out; None: no rank does, or it is not told.

    `readings`: one a rank and phase, of the same source and load.
    """
    found: list[tuple[int, float, float]] = []
    for phase in ALONE:
        took = {
            r.rank: ms
            for r in readings
            if r.phase is phase and r.rank is not None and (ms := _quietest_ms(r)) is not None
        }
        if len(took) < FEWEST_RANKS:
            return None
        *others, second, (rank, slowest) = sorted(took.items(), key=lambda one: one[1])
        middle = statistics.median([ms for _, ms in (*others, second)])
        # Alone: the next slowest is nearer to the rest than to it.
        if slowest - middle < max(MORE * middle, MORE_MS) or slowest - second[1] < second[1] - middle:
            return None
        found.append((rank, slowest, middle))
    if len({rank for rank, *_ in found}) > 1:
        return None
    (rank, draft, draft_others), (_, extend, extend_others) = found
    return SlowRank(
        rank=rank,
        own_ms=(draft, extend),
        others_ms=(draft_others, extend_others),
        words=f"rank {rank} is slow by itself: it drafts for {draft:.3f} ms and extends for {extend:.3f} ms (p50), the "
        f"others for {draft_others:.3f} and {extend_others:.3f}; in verify they wait for it",
    )


def _quietest_ms(reading: PhaseReading) -> float | None:
    """Return the least p50 of the starts: a slow rank is slow in all of them, a busy machine not in each."""
    return min((start.p50_ms for start in reading.starts), default=reading.p50_ms)
