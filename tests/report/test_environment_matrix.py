from __future__ import annotations

from tests.report.examples import run_evidence
from tokgate.report.environment_matrix import matrix_of


def test_a_row_per_variable_and_a_column_per_process() -> None:
    matrix = matrix_of(run_evidence().launches[0])
    assert matrix is not None
    assert [name for _, name in matrix.processes][:2] == ["main", "scheduler TP0"]
    assert {len(row.cells) for row in matrix.rows} == {len(matrix.processes)} == {10}
    assert (matrix.proven, matrix.cells) == (69, 70)


def test_erased_is_not_absent() -> None:
    matrix = matrix_of(run_evidence().launches[1])
    assert matrix is not None
    states = {cell.state for row in matrix.rows for cell in row.cells}
    assert states == {"present", "erased"}


def test_a_different_value_is_told() -> None:
    matrix = matrix_of(run_evidence().launches[0])
    assert matrix is not None
    (cell,) = (c for row in matrix.rows for c in row.cells if c.state == "different")
    assert "detokenizer" in cell.title
    assert "wanted LL, found <script>" in cell.title


def test_a_process_nobody_judged_stays_a_column() -> None:
    evidence = run_evidence().launches[0]
    assert evidence.environment is not None
    truth = evidence.environment
    fewer = truth.model_copy(update={"rows": tuple(r for r in truth.rows if r.process != "main")})
    matrix = matrix_of(evidence.model_copy(update={"environment": fewer}))
    assert matrix is not None
    assert len(matrix.processes) == 10
    assert matrix.rows[0].cells[0].state == "not-asked"


def test_an_environment_nobody_read_has_no_matrix() -> None:
    assert matrix_of(run_evidence().launches[2]) is None
