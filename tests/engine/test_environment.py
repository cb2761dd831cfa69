"""What a variable's absence from /proc/PID/environ means, on the real processes."""

from __future__ import annotations

import pytest

from tokgate.records import EnvironmentTruth, VariableState

from .conftest import Told

pytestmark = pytest.mark.engine


def states(truth: EnvironmentTruth, process: str, *, without: str = "") -> set[VariableState]:
    found = {row.state for row in truth.rows if row.process.startswith(process) and row.variable != without}
    assert found, f"no process {process} among {sorted({row.process for row in truth.rows})}"
    return found


def test_every_variable_reaches_every_process(golden_plain: Told) -> None:
    truth = golden_plain.environment
    for process in ("main", "scheduler", "detokenizer"):
        assert states(truth, process) == {VariableState.PRESENT}
    assert truth.strays == {}


def test_erased_evidence_is_not_taken_for_absence(context_plain: Told) -> None:
    """Without SPT_NOENV=1 in the server's environment setproctitle overwrites that of the workers."""
    truth = context_plain.environment
    assert states(truth, "main", without="SPT_NOENV") == {VariableState.PRESENT}
    for process in ("scheduler", "detokenizer"):
        found = states(truth, process)
        assert VariableState.ERASED in found
        assert VariableState.ABSENT not in found
