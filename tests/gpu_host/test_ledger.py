"""What a campaign has done survives calls, machines and merging; nothing that failed counts as done."""

from __future__ import annotations

from pathlib import Path

import ledger
import pytest
from ledger import Attempt, Ledger, Step

STEPS = (Step("aa-1", "pytest", ("perf_tests",)), Step("aa-2", "pytest", ("perf_tests",)))


def attempt(step: str, at: str, ended: str = "done", seconds: float = 100.0, launches: int = 2) -> Attempt:
    return Attempt(step, at, ended, 0 if ended == "done" else None, seconds, launches, f"run-{at}")


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    whole = Ledger("h200-aa", "h200", STEPS, [attempt("aa-1", "07:00")])
    whole.write(tmp_path)
    assert ledger.read(tmp_path / ledger.NAME) == whole


def test_a_campaign_that_has_not_begun_has_none(tmp_path: Path) -> None:
    assert ledger.read(tmp_path / ledger.NAME) is None


def test_a_torn_one_is_not_begun_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ledger.NAME).write_text('{"campaign": "a"', encoding="utf-8")
    with pytest.raises(SystemExit):
        ledger.read(tmp_path / ledger.NAME)
    assert "--campaign NAME" in capsys.readouterr().err


def test_what_ran_out_of_time_is_left_for_the_next_call() -> None:
    known = Ledger("c", "h200", STEPS, [attempt("aa-1", "07:00", "out of time"), attempt("aa-2", "07:10")])
    assert [step.name for step in known.left()] == ["aa-1"]


def test_two_copies_are_merged_and_each_attempt_is_there_once() -> None:
    first = Ledger("c", "h200", STEPS, [attempt("aa-1", "07:00")])
    other = Ledger("c", "h200", STEPS, [attempt("aa-1", "07:00"), attempt("aa-2", "07:10")])
    first.merge(other)
    assert [(a.step, a.at) for a in first.attempts] == [("aa-1", "07:00"), ("aa-2", "07:10")]
    assert first.left() == ()


def test_a_fresh_machine_takes_the_steps_over_from_the_copy() -> None:
    fresh = Ledger("c", "h200")
    fresh.merge(Ledger("c", "h200", STEPS, [attempt("aa-1", "07:00")]))
    assert [step.name for step in fresh.left()] == ["aa-2"]


@pytest.mark.parametrize(
    "other", [Ledger("d", "h200", STEPS), Ledger("c", "h200x2", STEPS), Ledger("c", "h200", STEPS[:1])]
)
def test_another_campaign_is_not_merged(other: Ledger) -> None:
    with pytest.raises(ValueError, match=r"is not|two plans"):
        Ledger("c", "h200", STEPS).merge(other)


def test_the_dearest_launch_so_far_is_what_the_next_one_is_expected_to_take() -> None:
    known = Ledger(
        "c", "h200", STEPS, [attempt("aa-1", "07:00", seconds=100), attempt("aa-2", "07:10", seconds=140)]
    )
    assert known.seconds_a_launch(75.0) == 70.0
    assert Ledger("c", "h200", STEPS).seconds_a_launch(75.0) == 75.0


@pytest.mark.parametrize(
    ("codes", "is_"),
    [([], 0), ([0, 10], 10), ([12, 10], 10), ([11, 10], 11), ([13, 11], 13), ([13, 3], 3), ([0, -9], -9)],
)
def test_the_worst_exit_code_decides(codes: list[int], is_: int) -> None:
    assert ledger.worst(codes) == is_
