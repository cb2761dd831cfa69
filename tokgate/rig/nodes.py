"""A server over several hosts: each node's part of the rig, and the rig as it is on that node alone."""

from __future__ import annotations

from typing import NamedTuple

from .machine import HostSpec, NodeSpec
from .models import Rig

# What the gate writes for every node; a rig has `server.nodes` and [[host.nodes]] instead.
ARGUMENTS = ("nnodes", "node_rank", "dist_init_addr", "nccl_init_addr")
# Where the address is not known before the start: in the lines that are only shown.
ADDRESS = "NODE0:PORT"


class NodeRig(NamedTuple):
    rank: int  # its --node-rank
    rig: Rig  # its own host, and its share of the GPUs

    @property
    def words(self) -> str:
        return f"node {self.rank}"

    def launched(self, address: str) -> Rig:
        """Return the rig whose server line is this node's; `address`: of node 0, HOST:PORT."""
        server = self.rig.server
        args = {
            **server.args,
            "nnodes": server.nodes,
            "node_rank": self.rank,
            "dist_init_addr": address,
        }
        return self.rig.model_copy(update={"server": server.model_copy(update={"args": args})})


def has_nodes(rig: Rig) -> bool:
    return rig.server.nodes > 1


def nodes_of(rig: Rig) -> tuple[NodeRig, ...]:
    """Return every node in order of rank; a server on one host is node 0, with the rig as it is."""
    if not has_nodes(rig):
        return (NodeRig(0, rig),)
    share = rig.gpus.model_copy(update={"count": rig.gpus.count // rig.server.nodes})
    first = rig.host.model_copy(update={"nodes": ()})
    hosts = (first, *(_spec(first, node) for node in rig.host.nodes))
    return tuple(
        NodeRig(rank, rig.model_copy(update={"host": host, "gpus": share})) for rank, host in enumerate(hosts)
    )


def _spec(shared: HostSpec, own: NodeSpec) -> HostSpec:
    changes = own.model_dump(exclude={"name", "environment"}, exclude_none=True)
    return shared.model_copy(update={"environment": {**shared.environment, **own.environment}, **changes})
