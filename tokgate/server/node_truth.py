"""What really reached the processes of every node: one truth, each row with the node whose process it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokgate.hosts.connection import Host
from tokgate.records import EnvironmentTruth, NodeRun, ServerRun

from .environment import prove_environment


def prove_on(host: Host, run: ServerRun, node: NodeRun, wanted: Mapping[str, str]) -> EnvironmentTruth:
    """Return a further node's own truth. `wanted` as of node 0; what this node's line has otherwise counts.

    HostFault: its process table cannot be read.
    """
    there = run.model_copy(
        update={
            "host": node.host,
            "line": node.line,
            "pid": node.pid,
            "start_ticks": node.start_ticks,
            "sid": node.sid,
            "mark": node.mark,
            "passed": node.passed,
        }
    )
    own = {name: node.line.environment.get(name, value) for name, value in wanted.items()}
    return prove_environment(host, there, own)


def joined(first: EnvironmentTruth, others: Iterable[tuple[NodeRun, EnvironmentTruth]]) -> EnvironmentTruth:
    """Return node 0's truth with the others' behind it, their processes called by their node."""
    for node, truth in others:
        number = node.node
        first = first.model_copy(
            update={
                "processes": (
                    *first.processes,
                    *(p.model_copy(update={"node": number}) for p in truth.processes),
                ),
                "rows": (
                    *first.rows,
                    *(
                        row.model_copy(update={"node": number, "process": f"{row.process} on node {number}"})
                        for row in truth.rows
                    ),
                ),
                "overwritten": {**truth.overwritten, **first.overwritten},
                # A stray of a further node counts as much; under a name that node 0 has as well, it is told already.
                "strays": {**truth.strays, **first.strays},
                "unread": (
                    *first.unread,
                    *(u.model_copy(update={"text": f"node {number}: {u.text}"}) for u in truth.unread),
                ),
            }
        )
    return first


def part_of(truth: EnvironmentTruth, node: int) -> EnvironmentTruth:
    """Return what a joined truth says of one node."""
    return truth.model_copy(
        update={
            "processes": tuple(p for p in truth.processes if p.node == node),
            "rows": tuple(row for row in truth.rows if row.node == node),
        }
    )
