"""Environment truth as a table: a row per variable, a column per process of the server's tree."""

from __future__ import annotations

from dataclasses import dataclass

from tokgate.records import EnvironmentTruth, LaunchEvidence, VariableState, VariableTruth

from .figures import NONE

# Sign and word: the sign alone would leave colour to say the rest.
_SIGNS = {
    VariableState.PRESENT: "✓",
    VariableState.DIFFERENT: "≠",
    VariableState.ABSENT: "✗",
    VariableState.ERASED: "░",
    VariableState.UNREADABLE: "?",
}
_NOT_ASKED = "not-asked"
_NOTHING_TO_SAY = (VariableState.PRESENT.value, _NOT_ASKED)
LEGEND = tuple((sign, state.value) for state, sign in _SIGNS.items())


@dataclass(frozen=True)
class Cell:
    sign: str
    state: str
    title: str


@dataclass(frozen=True)
class MatrixRow:
    variable: str
    wanted: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Matrix:
    launch: str
    processes: tuple[tuple[int, str], ...]  # pid, name
    rows: tuple[MatrixRow, ...]
    proven: int  # cells that are present
    cells: int
    truth: EnvironmentTruth

    @property
    def open_cells(self) -> tuple[str, ...]:
        """Return in words every cell that is asked for and not present."""
        return tuple(
            cell.title for row in self.rows for cell in row.cells if cell.state not in _NOTHING_TO_SAY
        )


def matrix_of(evidence: LaunchEvidence) -> Matrix | None:
    """Return the matrix of one launch; None when nobody read its environment."""
    truth = evidence.environment
    if truth is None:
        return None
    # Processes without any row are columns too: a process nobody judged must not disappear.
    processes = {(p.node, p.pid): p.comm for p in truth.processes}
    processes |= {(r.node, r.pid): r.process for r in truth.rows}
    wanted = {r.variable: r.wanted for r in truth.rows}
    by_place = {(r.variable, r.node, r.pid): r for r in truth.rows}
    return Matrix(
        launch=evidence.launch.id,
        processes=tuple((pid, name) for (_, pid), name in processes.items()),
        rows=tuple(
            MatrixRow(variable, value, tuple(_cell(by_place.get((variable, *place))) for place in processes))
            for variable, value in wanted.items()
        ),
        proven=sum(r.state is VariableState.PRESENT for r in truth.rows),
        cells=len(truth.rows),
        truth=truth,
    )


def _cell(row: VariableTruth | None) -> Cell:
    if row is None:
        return Cell(NONE, _NOT_ASKED, "not asked of this process")
    found = "" if row.found is None or row.state is VariableState.PRESENT else f", found {row.found}"
    return Cell(
        _SIGNS[row.state],
        row.state.value,
        f"{row.variable} in {row.process} (pid {row.pid}): {row.state.value}, wanted {row.wanted}{found}",
    )
