from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_launch
from tokgate.records import LaunchEvidence, VariableState
from tokgate.verdicts.environment import overwritten, unproven


def planted(state: VariableState, found: str | None = None, **truth: Any) -> LaunchEvidence:
    """NCCL_ALGO of the first scheduler is not what was wanted."""
    launch = make_launch()
    assert launch.environment is not None
    rows = tuple(
        row.model_copy(update={"state": state, "found": found})
        if row.pid == 101 and row.variable == "NCCL_ALGO"
        else row
        for row in launch.environment.rows
    )
    environment = launch.environment.model_copy(update={"rows": rows, **truth})
    return launch.model_copy(update={"environment": environment})


def test_a_proven_environment_has_no_shortfall() -> None:
    assert list(unproven(make_launch())) == []


def test_an_absent_variable_names_process_and_pid() -> None:
    (found,) = unproven(planted(VariableState.ABSENT))

    assert found.what == "NCCL_ALGO absent from scheduler TP0 (pid 101)"
    assert found.do


def test_a_different_value_shows_both() -> None:
    (found,) = unproven(planted(VariableState.DIFFERENT, "Tree"))

    assert found.what == "NCCL_ALGO is 'Tree' in scheduler TP0 (pid 101), wanted 'Ring'"


def test_erased_memory_is_never_called_absence() -> None:
    (found,) = unproven(planted(VariableState.ERASED))

    assert "cannot be proven" in found.what
    assert "SPT_NOENV=1" in found.what
    assert "absent" not in found.what


def test_an_unreadable_process_proves_nothing() -> None:
    (found,) = unproven(planted(VariableState.UNREADABLE))

    assert "cannot be proven in scheduler TP0 (pid 101)" in found.what


@pytest.mark.parametrize("state", [VariableState.DIFFERENT, VariableState.ABSENT])
def test_what_sglang_overwrites_itself_is_told_not_blamed(state: VariableState) -> None:
    launch = planted(state, "Tree", overwritten={"NCCL_ALGO": "engine.py"})
    assert launch.environment is not None

    assert list(unproven(launch)) == []
    assert overwritten(launch.environment)[0].startswith(
        "NCCL_ALGO=Ring is overwritten by SGLang itself: engine.py"
    )


def test_a_variable_nobody_looked_for_is_a_gap() -> None:
    launch = make_launch()
    assert launch.environment is not None
    rows = tuple(r for r in launch.environment.rows if r.pid != 102)
    thin = launch.model_copy(update={"environment": launch.environment.model_copy(update={"rows": rows})})
    (found,) = unproven(thin)

    assert found.what == "NCCL_ALGO was never looked for in pid 102 (2 such gaps)"


def test_a_variable_of_the_launch_line_without_any_row_is_a_gap() -> None:
    launch = make_launch()
    assert launch.environment is not None
    rows = tuple(r for r in launch.environment.rows if r.variable != "NCCL_ALGO")
    thin = launch.model_copy(update={"environment": launch.environment.model_copy(update={"rows": rows})})
    (found,) = unproven(thin)

    assert "NCCL_ALGO was never looked for" in found.what
