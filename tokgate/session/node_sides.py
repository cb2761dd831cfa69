"""The sides of a change on every node of a server: the same trees, made on each host and proven there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tokgate.errors import SideFault
from tokgate.hosts.sides import TRIED
from tokgate.records import EnvironmentTruth, Launch
from tokgate.records.side import SideProof, SidesMade
from tokgate.server.node_truth import part_of

from .nodes import Node
from .sides import Sides


class JointSides(Sides):
    """Node 0's sides, with those of the further nodes beside them. `of`: a node's own, to equip its processes."""

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        run_id: str,
        keep: Callable[[SidesMade], None],
        say: Callable[[str], None],
    ) -> None:
        first, *further = nodes
        super().__init__(first.host, first.part.rig, run_id=run_id, keep=keep, say=say)
        self._further = {
            node.part.rank: (
                node,
                Sides(
                    node.host,
                    node.part.rig,
                    run_id=f"{run_id}-node{node.part.rank}",
                    keep=lambda _: None,
                    say=_told_by(node, say),
                ),
            )
            for node in further
        }

    def of(self, rank: int) -> Sides:
        return self if rank == 0 else self._further[rank][1]

    def open(self) -> None:
        super().open()
        for _, sides in self._further.values():
            sides.open()
        self._compare()

    def make(self, names: Iterable[str]) -> None:
        wanted = tuple(names)
        super().make(wanted)
        for _, sides in self._further.values():
            sides.make(wanted)
        self._compare()

    def proof(self, launch: Launch, truth: EnvironmentTruth) -> SideProof | None:
        found = super().proof(launch, part_of(truth, 0))
        for rank, (node, sides) in self._further.items():
            there = sides.proof(launch, part_of(truth, rank))
            if found is not None and there is not None:
                found = found.model_copy(
                    update={
                        "processes": found.processes + there.processes,
                        "why": (*found.why, *(f"{node.name}: {why}" for why in there.why)),
                        # Imported anywhere is imported: a scheduler of one node may read what another's does not.
                        "changed_imported": tuple(sorted({*found.changed_imported, *there.changed_imported})),
                        "changed_unused": tuple(
                            name for name in found.changed_unused if name in there.changed_unused
                        ),
                    }
                )
        return found

    def at_the_end(self, proof: SideProof) -> SideProof:
        ended = super().at_the_end(proof)
        for node, sides in self._further.values():
            there = sides.at_the_end(proof.model_copy(update={"why": ()}))
            ended = ended.model_copy(
                update={
                    "why": (*ended.why, *(f"{node.name}: {why}" for why in there.why)),
                    "changed_imported": tuple(sorted({*ended.changed_imported, *there.changed_imported})),
                    "changed_unused": tuple(n for n in ended.changed_unused if n in there.changed_unused),
                }
            )
        return ended

    def close(self) -> None:
        try:
            super().close()
        finally:
            for _, sides in self._further.values():
                sides.close()

    def _compare(self) -> None:
        """SideFault: a side is another tree on one node than on another."""
        for state in self.made.sides if self.made is not None else ():
            for node, sides in self._further.values():
                there = sides.made.side(state.name) if sides.made is not None else None
                if there is not None and there.tree != state.tree:
                    raise SideFault(
                        tried=f"{TRIED}: {state.name} on {node.name}",
                        found=f"another tree than on node 0: {there.tree[:12]}, commit {there.commit or 'not known'}, "
                        f"and {state.tree[:12]}, commit {state.commit or 'not known'} there",
                        do="bring the same commit and the same working tree to every node",
                    )


def sides_on(
    nodes: Sequence[Node], *, run_id: str, keep: Callable[[SidesMade], None], say: Callable[[str], None]
) -> Sides:
    """Return what makes the sides of a session on its host, or on all of them."""
    if len(nodes) > 1:
        return JointSides(nodes, run_id=run_id, keep=keep, say=say)
    return Sides(nodes[0].host, nodes[0].part.rig, run_id=run_id, keep=keep, say=say)


def _told_by(node: Node, say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda words: say(f"{node.name}: {words}")
