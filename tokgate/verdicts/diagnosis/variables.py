"""Variables that are not as the rig wrote them in the server's processes, and what is proven of those that are."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import LaunchEvidence, RunEvidence, VariableState, VariableTruth
from tokgate.records.record import Record
from tokgate.rig.models import Rig

_WRONG = (VariableState.ABSENT, VariableState.DIFFERENT)
_HIDDEN = (VariableState.ERASED, VariableState.UNREADABLE)


class Refuted(Record):
    launch: str
    row: VariableTruth

    @property
    def words(self) -> str:
        found = "absent" if self.row.found is None else f"{self.row.found!r}"
        return (
            f"{self.launch}: {self.row.variable} is {found} in {self.row.process}, wanted {self.row.wanted!r}"
        )


def refuted(run: RunEvidence) -> tuple[Refuted, ...]:
    """Return every cell that contradicts the rig; what SGLang overwrites by itself contradicts nothing."""
    return tuple(
        Refuted(launch=launch.launch.id, row=row)
        for launch, row in _rows(run)
        if row.state in _WRONG and not _overwritten(launch, row)
    )


def hidden(run: RunEvidence) -> tuple[Refuted, ...]:
    """Return every cell of which nothing can be said."""
    return tuple(Refuted(launch=e.launch.id, row=row) for e, row in _rows(run) if row.state in _HIDDEN)


def is_nccl(rig: Rig, variable: str) -> bool:
    return variable in rig.server.nccl or variable.startswith("NCCL_")


def proven_ranks(rig: Rig, run: RunEvidence) -> int | None:
    """Return in how many ranks, the least of any launch, the whole NCCL block is proven; None: not in every one."""
    least: list[int] = []
    for launch in run.launches:
        truth = launch.environment
        if truth is None or launch.launch.role == "nccl-off":
            continue
        ranks: dict[tuple[int, int], set[str]] = {}
        for row in truth.rows:
            if row.process.startswith("scheduler") and row.variable in rig.server.nccl:
                good = row.state is VariableState.PRESENT or _overwritten(launch, row)
                ranks.setdefault((row.node, row.pid), set()).update({row.variable} if good else ())
        if not ranks or any(found != set(rig.server.nccl) for found in ranks.values()):
            return None
        least.append(len(ranks))
    return min(least, default=None)


def _overwritten(launch: LaunchEvidence, row: VariableTruth) -> bool:
    return launch.environment is not None and row.variable in launch.environment.overwritten


def _rows(run: RunEvidence) -> Iterator[tuple[LaunchEvidence, VariableTruth]]:
    for launch in run.launches:
        if launch.environment is not None:
            for row in launch.environment.rows:
                yield launch, row
