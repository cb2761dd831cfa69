"""Server runs that are one and the same under two names: a copied folder is no further evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tokgate.records import LaunchEvidence

from .shortfall import Shortfall


def copied(launches: Sequence[LaunchEvidence]) -> Iterable[Shortfall]:
    """Yield each launch that has its server, or an answer, in common with an earlier one, and which.

    The gate gives every server a mark of its own and every request an id of its own, and no two processes of a host begin
    under one pid in the same tick.
    """
    seen: dict[tuple[object, ...], str] = {}
    for launch in launches:
        own = dict(_own(launch))
        told: set[str] = set()
        for key, what in own.items():
            other = seen.get(key)
            if other is not None and other not in told:
                told.add(other)
                yield Shortfall(
                    what=f"{other} and {launch.launch.id} are one server run under two names: the same {what}",
                    do="judge the run folder as it was written; start the server anew for further evidence",
                )
        seen = dict.fromkeys(own, launch.launch.id) | seen


def _own(launch: LaunchEvidence) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield what no other server run has, and its words."""
    server = launch.server
    if server is not None:
        yield ("mark", server.mark), f"mark {server.mark}"
        yield (
            ("process", server.host, server.pid, server.start_ticks),
            f"process, {server.pid} of {server.host}, started at {server.started_at}",
        )
    for generation in launch.generations:
        yield ("answer", generation.request_id), f"answer, {generation.request_id}"
