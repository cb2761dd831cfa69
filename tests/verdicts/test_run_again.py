"""Next steps as they are typed: the same selection, rig and options as the run that they follow."""

from __future__ import annotations

import pytest

from tokgate.records import RunInfo
from tokgate.verdicts.run_again import as_typed

STEP = "measure again: pytest perf_tests -m eagle3 --rig small --rig-set sampling.gpu_time_s=1200"


def info(selection: str, command: str) -> RunInfo:
    return RunInfo(
        run_id="20261130T184803-small",
        rig="small",
        simulated=False,
        started_at="2026-11-30T18:48:03+00:00",
        command=command,
        selection=selection,
        tokgate_version="0.1.0",
    )


@pytest.mark.parametrize(
    ("selection", "marks"),
    [
        ("perf_tests -m patch -k single", "patch"),
        ("perf_tests -m eagle3", "eagle3"),
        ("perf_tests -m verify", "eagle3"),  # its questions are the main job's
    ],
)
def test_a_run_that_asked_of_a_change_alone_is_followed_by_one(selection: str, marks: str) -> None:
    """Its exit code is about the change; the main job's is about everything."""
    run = info(selection, f"pytest {selection} --rig small --patch 'my fix.patch' --instrumented")
    assert as_typed(STEP, run) == (
        f"measure again: pytest perf_tests -m {marks} --rig small --patch 'my fix.patch' --instrumented "
        "--rig-set sampling.gpu_time_s=1200"
    )


def test_a_selection_that_no_shell_could_read_changes_nothing() -> None:
    assert as_typed(STEP, info("perf_tests -m 'patch", "pytest")) == STEP
