"""The NCCL block in five states as a table: a row per variable, a sign per rank in each state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokgate.records import RunEvidence
from tokgate.records.nccl import NcclCell, NcclMark, NcclRow, NcclStage, NcclTruth
from tokgate.rig.models import Rig
from tokgate.verdicts.nccl.states import condensed, nccl_truth_of

from .figures import NONE

# Sign and word: the sign alone would leave colour to say the rest.
_SIGNS = {
    NcclMark.PROVEN: "✓",
    NcclMark.REFUTED: "✗",
    NcclMark.UNUSED: "○",
    NcclMark.SILENT: NONE,
    NcclMark.UNKNOWN: "?",
}
LEGEND = tuple((sign, mark.value) for mark, sign in _SIGNS.items())
STAGES = tuple(stage for stage in NcclStage if stage is not NcclStage.WANTED)
_FINE = (NcclMark.PROVEN, NcclMark.SILENT)


@dataclass(frozen=True)
class Sign:
    sign: str
    mark: str


@dataclass(frozen=True)
class StageCell:
    """One state of one variable: a sign per rank, and in words what is not as it should be."""

    signs: tuple[Sign, ...]
    value: str | None  # the one that all ranks agree on
    words: tuple[str, ...]
    origins: tuple[tuple[str, str], ...]  # what is known and where that is read, and of which ranks
    fine: bool


@dataclass(frozen=True)
class VariableRow:
    variable: str
    wanted: str
    cells: tuple[StageCell, ...]  # one per STAGES


@dataclass(frozen=True)
class FiveStates:
    truth: NcclTruth
    rows: tuple[VariableRow, ...]

    @property
    def fine(self) -> bool:
        return self.wrong == 0

    @property
    def wrong(self) -> int:
        """How many variables are not fine in some state."""
        return sum(not all(cell.fine for cell in row.cells) for row in self.rows)


def truth_of_run(rig: Rig, evidence: RunEvidence) -> NcclTruth | None:
    """Return the states as the run's proof start shows them, else as its first launch does.

    None: the rig has no NCCL block or only one GPU, or nothing was launched.
    """
    if not rig.server.nccl or rig.gpus.count < 2:
        return None
    launches = [e for e in evidence.launches if e.launch.role in ("nccl-proof", "control")]
    launches.sort(key=lambda e: e.launch.role != "nccl-proof")
    return nccl_truth_of(rig, launches[0]) if launches else None


def tells(truth: NcclTruth) -> bool:
    """Say whether there is more to see than that nobody selected the proof: else a table of it is one of nothing."""
    if truth.skipped is not None:
        return True
    told = (NcclMark.PROVEN, NcclMark.REFUTED, NcclMark.UNUSED)
    started, *later = STAGES
    return any(
        row.cell(started).mark is NcclMark.REFUTED or any(row.cell(stage).mark in told for stage in later)
        for row in truth.rows
    )


def five_states(truth: NcclTruth) -> FiveStates:
    variables = dict.fromkeys(row.variable for row in truth.rows)
    return FiveStates(truth, tuple(_row(truth, variable) for variable in variables))


def _row(truth: NcclTruth, variable: str) -> VariableRow:
    mine = truth.model_copy(update={"rows": tuple(r for r in truth.rows if r.variable == variable)})
    wanted = mine.rows[0].cell(NcclStage.WANTED).value or ""
    return VariableRow(variable, wanted, tuple(_cell(mine, stage, wanted) for stage in STAGES))


def _cell(mine: NcclTruth, stage: NcclStage, wanted: str) -> StageCell:
    cells = [row.cell(stage) for row in mine.rows]
    values = {cell.value for cell in cells if cell.mark is not NcclMark.SILENT}
    fine = all(cell.mark in _FINE for cell in cells)
    value = next(iter(values)) if len(values) == 1 else None
    return StageCell(
        signs=tuple(Sign(_SIGNS[cell.mark], cell.mark.value) for cell in cells),
        value=value if value != wanted else None,
        words=tuple(
            words for _, words in condensed(mine, stage, [mark for mark in NcclMark if mark not in _FINE])
        ),
        origins=_origins(zip(mine.rows, cells, strict=True)),
        fine=fine,
    )


def _origins(ranks: Iterable[tuple[NcclRow, NcclCell]]) -> tuple[tuple[str, str], ...]:
    """Return each origin once, "all ranks" where it is the same in all of them."""
    found: dict[str, list[str]] = {}
    for row, cell in ranks:
        where = f" ({cell.evidence})" if cell.evidence else ""
        found.setdefault(f"{cell.words}{where}", []).append(str(row.rank))
    if len(found) == 1:
        return ((next(iter(found)), "all ranks"),)
    return tuple((words, f"rank{'s' if len(of) > 1 else ''} {', '.join(of)}") for words, of in found.items())
