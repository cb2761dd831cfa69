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


def test_of_one_key_the_last_value_is_kept_and_what_the_step_sets_stands_there_once() -> None:
    typed = "pytest perf_tests -m eagle3 --rig small --rig-set a=1 --rig-set sampling.gpu_time_s=600 --rig-set 'a=[2, 3]'"
    told = as_typed(STEP, info("perf_tests -m eagle3", typed))
    assert told == (
        "measure again: pytest perf_tests -m eagle3 --rig small --rig-set 'a=[2, 3]' --rig-set sampling.gpu_time_s=1200"
    )
    assert as_typed(told, info("perf_tests -m eagle3", typed)) == told
    followed = as_typed(STEP, info("perf_tests -m eagle3", told.partition(": ")[2]))
    assert followed == told


def test_each_command_of_a_step_gets_what_it_does_not_set_itself() -> None:
    typed = "pytest perf_tests -m eagle3 --rig small --rig-set sampling.gpu_time_s=600 --patch a --patch b --base x --base=y"
    told = as_typed(
        f"pytest perf_tests -m culprit --rig small --culprit; {STEP}", info("perf_tests -m eagle3", typed)
    )
    assert told == (
        "pytest perf_tests -m culprit --rig small --rig-set sampling.gpu_time_s=600 --patch a --patch b --base y --culprit; "
        "measure again: pytest perf_tests -m eagle3 --rig small --patch a --patch b --base y --rig-set sampling.gpu_time_s=1200"
    )


def test_a_step_that_was_typed_once_is_not_typed_twice() -> None:
    typed = (
        "pytest perf_tests -m patch --rig small --report-dir r --rig-set 'w=[{n=\"single\"}]' --rig-set sampling.gpu_time_s=900 "
        "--sglang-repo /s --base 'HEAD~1' --head HEAD"
    )
    told = as_typed(STEP, info("perf_tests -m patch", typed))
    assert told.count("--report-dir") == told.count("--base") == 1
    assert as_typed(told, info("perf_tests -m patch", typed)) == told


def test_a_selection_that_no_shell_could_read_changes_nothing() -> None:
    assert as_typed(STEP, info("perf_tests -m 'patch", "pytest")) == STEP
