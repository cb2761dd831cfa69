"""What the launches of one session share beyond their site: the client's ceiling, the looks, the sides, the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokgate.hosts.connection import Host
from tokgate.records import Launch
from tokgate.rig.models import Rig
from tokgate.rig.nodes import nodes_of
from tokgate.rig.ranks import rank_count
from tokgate.server.followers import Further

from .instruments import Instruments
from .node_sides import JointSides
from .nodes import Node
from .proof import ProofRun
from .sides import Sides
from .site import Site
from .slates import Slates
from .trace_run import TraceRun


@dataclass(frozen=True, kw_only=True)
class Bench(Site):
    client_ceiling: float  # events/s
    slates: Slates
    sides: Sides
    nodes: tuple[Node, ...] = ()  # of a server over several hosts, node 0 first; else none

    def watched(self, rig: Rig) -> tuple[Node, ...]:
        """Return every host that a server of `rig` runs on, with its part of `rig`."""
        parts = nodes_of(rig)
        if len(parts) == 1:
            return (Node(parts[0], self.host),)
        return tuple(Node(part, node.host) for part, node in zip(parts, self.nodes, strict=True))

    @property
    def further_hosts(self) -> tuple[Host, ...]:
        return tuple(node.host for node in self.nodes[1:])

    def further(self, rig: Rig, launch: Launch, carried: Sequence[Instruments]) -> tuple[Further, ...]:
        """Return the further nodes of a launch, each equipped on its own host. `carried`: by rank, or nothing.

        SideFault: a side cannot be made on one of them.
        """
        found = []
        for node in self.watched(rig)[1:]:
            rank = node.part.rank
            sides = self.sides.of(rank) if isinstance(self.sides, JointSides) else self.sides
            equip = sides.equip(launch, carried[rank].equip if carried else None)
            found.append(Further(node.part, node.host, equip))
        return tuple(found)

    def traces(self, launch: Launch, rig: Rig) -> TraceRun:
        return TraceRun(self.host, self.folder, launch, rig, self.root, further=self.further_hosts)

    def proof(self, launch: Launch, rig: Rig) -> ProofRun:
        return ProofRun(
            host=self.host,
            folder=self.folder,
            launch_id=launch.id,
            ranks=rank_count(rig),
            further=self.further_hosts,
        )
