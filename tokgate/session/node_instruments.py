"""The instruments of one launch on every node: laid out, switched and brought home together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokgate.rig.models import Rig

from .instrument_files import probe_folder
from .instruments import Instruments
from .nodes import Node
from .run_folder import RunFolder


@dataclass(frozen=True)
class JointInstruments:
    """Of one launch, by rank; those of node 0 alone for a server on one host."""

    members: tuple[Instruments, ...]

    def __iter__(self) -> Iterator[Instruments]:
        return iter(self.members)

    def turn(self, on: bool) -> bool:
        """Turn every node's probe; return whether all are now as asked."""
        turned = [one.switch.turn(on) for one in self.members if one.switch is not None]
        return all(turned)

    def turn_off(self) -> None:
        for one in self.members:
            one.turn_off()

    def collect(self) -> None:
        for one in self.members:
            one.collect()


def instruments_of(
    nodes: Sequence[Node], *, folder: RunFolder, launch_id: str, rig: Rig, root: Path
) -> JointInstruments:
    return JointInstruments(
        tuple(
            Instruments(
                host=node.host,
                folder=folder,
                launch_id=launch_id,
                rig=rig,
                root=root,
                kept_in=probe_folder(node.part.rank),
            )
            for node in nodes
        )
    )
