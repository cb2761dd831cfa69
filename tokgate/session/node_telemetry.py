"""Watching every node of a server while it is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokgate.hosts.telemetry import Watch, watch
from tokgate.records import NodeRun, ServerRun
from tokgate.records.telemetry import Telemetry

from .nodes import Node
from .seen import telemetry_file


def watch_nodes(
    nodes: Sequence[Node], server: ServerRun, append: Callable[[str, str], None]
) -> Callable[[], Telemetry]:
    """Begin to watch every node; what is returned ends it. `append`: file name, whole lines."""
    runs = {0: server, **{run.node: server.model_copy(update=_whose(run)) for run in server.nodes}}

    def begin(node: Node) -> Watch:
        name = telemetry_file(node.part.rank)
        return watch(node.host, node.part.rig, runs[node.part.rank], write=lambda lines: append(name, lines))

    watching = [begin(node) for node in nodes if node.part.rank in runs]

    def end() -> Telemetry:
        first, *others = [one.end() for one in watching]
        return _joined(first, others) if others else first

    return end


def _joined(first: Telemetry, others: Sequence[Telemetry]) -> Telemetry:
    """Return how it went everywhere; `gpus` and `problems` are of all nodes, the rest is node 0's and in `nodes`."""
    numbered = list(enumerate(others, start=1))
    return first.model_copy(
        update={
            "gpus": first.gpus + sum(one.gpus for one in others),
            "problems": (
                *first.problems,
                *(f"node {number}: {words}" for number, one in numbered for words in one.problems),
            ),
            "nodes": tuple(others),
        }
    )


def _whose(run: NodeRun) -> dict[str, object]:
    return {"pid": run.pid, "start_ticks": run.start_ticks, "sid": run.sid, "mark": run.mark}
