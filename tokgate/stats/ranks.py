"""Which rank speaks for a launch, and which the others wait for: in a verify the wait is everybody's but its own.

The ranks of a tensor-parallel server meet in every all-reduce, so a slow one lengthens the verify of all, and its own by
no more than theirs. What a rank does without meeting the others, here the two phases of the draft model, takes as long as
that rank is slow. Where the draft model is sharded too, a trace still tells: the kernels of a rank that are none of a
collective wait for nobody.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from tokgate.records.phases import Phase, PhaseReading, TraceFacts
from tokgate.records.record import Record

ALONE = (Phase.DRAFT, Phase.DRAFT_EXTEND)
FEWEST_RANKS = 3  # of two it cannot be said which is the odd one
MORE = 0.05  # of the others' time; the spread of eight healthy ranks is 1 % (p50, a busy machine)
MORE_MS = 0.02


class SlowRank(Record):
    rank: int
    own_ms: tuple[
        float, ...
    ]  # p50 of draft and draft_extend, in the quietest start; or kernels of a step, on average
    others_ms: tuple[float, ...]  # the median rank of the others
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
        if (odd := _odd_one(took)) is None:
            return None
        found.append(odd)
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


def slow_by_kernels(traces: Sequence[TraceFacts]) -> SlowRank | None:
    """Return the one rank whose kernels outside of collectives take longer a step; None: no rank's do, or it is not told.

    What waits for other ranks is a collective's kernel, which is long on every rank but the one they wait for. Without them
    two healthy ranks lie 0.1 to 0.4 % apart (two H200, SGLang 0.5.16), so two are enough. `traces`: one a rank, of one launch.
    """
    took = {
        t.rank: (t.kernel_ms - _collective_ms(t)) / t.steps for t in traces if t.rank is not None and t.steps
    }
    if len(took) < 2 or (odd := _odd_one(took)) is None:
        return None
    rank, own, others = odd
    waits = {t.rank: _collective_ms(t) / t.steps for t in traces if t.rank in took}
    waiting = statistics.median([ms for other, ms in waits.items() if other != rank])
    return SlowRank(
        rank=rank,
        own_ms=(own,),
        others_ms=(others,),
        words=f"rank {rank} is slow by itself: its kernels outside of collectives take {own:.3f} ms a step (trace), the others' "
        f"{others:.3f}; in collectives it spends {waits[rank]:.3f} ms, the others, which wait for it, {waiting:.3f}",
    )


def _collective_ms(trace: TraceFacts) -> float:
    """Return the time in NCCL's kernels, and in those that reduce in their place."""
    return trace.nccl_share * trace.kernel_ms + math.fsum(k.total_us for k in trace.instead) / 1e3


def _odd_one(took: Mapping[int, float]) -> tuple[int, float, float] | None:
    """Return the rank that alone takes longer, its time, and the others' in the middle."""
    *others, second, (rank, slowest) = sorted(took.items(), key=lambda one: one[1])
    middle = statistics.median([ms for _, ms in (*others, second)])
    # Alone: the next slowest is nearer to the rest than to it.
    if slowest - middle < max(MORE * middle, MORE_MS) or slowest - second[1] < second[1] - middle:
        return None
    return rank, slowest, middle


def _quietest_ms(reading: PhaseReading) -> float | None:
    """Return the least p50 of the starts: a slow rank is slow in all of them, a busy machine not in each."""
    return min((start.p50_ms for start in reading.starts), default=reading.p50_ms)
