"""Server runs that are one and the same under two names: a copied folder is no further evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from tokgate.records import LaunchEvidence

from .shortfall import Shortfall


def copied(launches: Sequence[LaunchEvidence]) -> Iterable[Shortfall]:
    """Yield each pair of launches that have one server, or an answer, in common.

    The gate gives every server a mark of its own and every request an id of its own, and no two processes of a host begin
    under one pid in the same tick.
    """
    for one, other in combinations(launches, 2):
        same = next(_in_common(one, other), None)
        if same is not None:
            yield Shortfall(
                what=f"{one.launch.id} and {other.launch.id} are one server run under two names: the same {same}",
                do="judge the run folder as it was written; start the server anew for further evidence",
            )


def _in_common(one: LaunchEvidence, other: LaunchEvidence) -> Iterator[str]:
    mine, others = one.server, other.server
    if mine is not None and others is not None:
        if mine.mark == others.mark:
            yield f"mark {mine.mark}"
        if (mine.host, mine.pid, mine.start_ticks) == (others.host, others.pid, others.start_ticks):
            yield f"process, {mine.pid} of {mine.host}, started at {mine.started_at}"
    requests = {g.request_id for g in one.generations}
    answered = next((g.request_id for g in other.generations if g.request_id in requests), None)
    if answered is not None:
        yield f"answer, {answered}"
