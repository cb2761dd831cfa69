"""Whether verify runs in graphs, beside the control arm or the base of a change: by the probe, else by the servers' own decode lines."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.phases import GraphReading, Phase
from tokgate.records.record import Record

# As the check graph_share has it: a ragged batch at the end of a start may run without.
IN_GRAPHS = 0.95


class Graphs(Record):
    """Shares of steps in a graph, 0 to 1; None: not told."""

    here: float | None
    there: float | None
    words: str

    @property
    def without(self) -> bool | None:
        """Whether verify runs outside graphs where the other one runs inside; None: not told."""
        if self.here is None or self.there is None:
            return None
        return self.here < IN_GRAPHS <= self.there


def graphs_of(
    arm: Sequence[LaunchEvidence],
    other: Sequence[LaunchEvidence],
    workload: str,
    concurrency: int,
    *,
    whose: str = "the control arm's steps",
) -> Graphs:
    """Compare an arm with what it is held against: the control arm, or the base of a change. `whose`: the latter's steps."""
    here = _share(arm, workload, concurrency)
    there = _share(other, workload, concurrency)
    told = [
        f"{share:.0%} of {steps} in a graph (by {by})" if share is not None else f"not told of {steps}"
        for (share, by), steps in ((here, "verify steps"), (there, whose))
    ]
    return Graphs(here=here[0], there=there[0], words=", ".join(told))


def _share(
    launches: Sequence[LaunchEvidence], workload: str, concurrency: int
) -> tuple[float | None, str | None]:
    for found in (_probe(launches, workload), _readings(launches, concurrency), _lines(launches)):
        told = list(found)
        if told:
            return statistics.fmean(share for share, _ in told), told[0][1]
    return None, None


def _probe(launches: Sequence[LaunchEvidence], workload: str) -> Iterator[tuple[float, str]]:
    for launch in launches:
        for reading in launch.phases.readings if launch.phases is not None else ():
            mine = (reading.phase, reading.workload, reading.requests) == (Phase.VERIFY, workload, None)
            if mine and reading.graph_share is not None:
                yield reading.graph_share, reading.source


def _readings(launches: Sequence[LaunchEvidence], concurrency: int) -> Iterator[tuple[float, str]]:
    for launch in launches:
        graphs = launch.phases.graphs if launch.phases is not None else None
        told: tuple[GraphReading, ...] = graphs.readings if graphs is not None else ()
        for reading in told:
            if reading.share is not None and reading.concurrency in (concurrency, None):
                yield reading.share, reading.source


def _lines(launches: Sequence[LaunchEvidence]) -> Iterator[tuple[float, str]]:
    for launch in launches:
        if launch.graph is not None and launch.graph.share is not None:
            yield launch.graph.share, "decode lines"
