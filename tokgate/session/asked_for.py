"""What the selected tests want of a session beyond which launches it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokgate.records import Launch


@dataclass(frozen=True)
class AskedFor:
    """`workloads`: launch -> what it takes, of one that is not named all; `change_alone`: nothing but head against base."""

    workloads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    change_alone: bool = False

    def of(self, launch: Launch) -> Launch:
        """Return a planned launch with the workloads that it takes; a restart has its own."""
        named = self.workloads.get(launch.id)
        return launch if named is None or launch.round else launch.model_copy(update={"workloads": named})
