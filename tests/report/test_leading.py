from __future__ import annotations

from typing import Literal

import pytest

from tests.report.example_verdicts import six_outcomes
from tokgate.records import PRECEDENCE, Outcome, Reference, Verdict
from tokgate.report.leading import worst_first


def told(*verdicts: tuple[str, Outcome, float | None]) -> list[str]:
    """Return the checks in the order they are told, from (check, outcome, change)."""
    made = [Verdict(check=c, outcome=o, headline=c, workload="single", change=x) for c, o, x in verdicts]
    return [v.check for v in worst_first(made)]


def test_worst_first_keeps_the_order_of_equals() -> None:
    twice = (*six_outcomes(), *six_outcomes())
    assert [v.outcome for v in worst_first(twice)] == [o for o in PRECEDENCE for _ in range(2)]


@pytest.mark.parametrize("follows", ["speculation_beats_its_twin", "drift", "stored_baseline", "lossless"])
def test_an_invalid_launch_is_told_before_the_comparisons_that_lack_it(follows: str) -> None:
    assert told((follows, Outcome.INVALID, None), ("decode_throughput", Outcome.INVALID, None)) == [
        "decode_throughput",
        follows,
    ]


def test_drift_is_told_before_what_it_leaves_open() -> None:
    verdicts = [
        ("speculation_beats_its_twin", Outcome.INCONCLUSIVE, 0.01),
        ("steadiness", Outcome.INCONCLUSIVE, None),
        ("drift", Outcome.INCONCLUSIVE, -0.05),
    ]
    assert told(*verdicts) == ["drift", "steadiness", "speculation_beats_its_twin"]


def test_a_regression_that_the_drift_explains_is_told_after_one_that_it_does_not() -> None:
    verdicts = [
        ("stored_baseline", Outcome.REGRESSED, -0.05),
        ("speculation_beats_its_twin", Outcome.REGRESSED, -0.30),
        ("drift", Outcome.INCONCLUSIVE, -0.06),
    ]
    assert told(*verdicts) == ["speculation_beats_its_twin", "stored_baseline", "drift"]


def regressed(
    check: str, kind: Literal["budget", "twin", "baseline"], launch: str = "01-baseline"
) -> Verdict:
    return Verdict(
        check=check,
        outcome=Outcome.REGRESSED,
        headline=check,
        launch=launch,
        workload="single",
        metric="decode_tok_s",
        reference=Reference(kind=kind, label="x", value=1.0),
    )


def test_what_has_changed_is_told_before_that_a_number_is_below_its_limit() -> None:
    limit = regressed("decode_throughput", "budget")
    baseline = regressed("stored_baseline", "baseline")
    assert [v.check for v in worst_first([limit, baseline])] == ["stored_baseline", "decode_throughput"]
    other = regressed("decode_throughput", "budget", launch="02-eagle3")
    assert [v.launch for v in worst_first([limit, other, baseline])] == [
        "02-eagle3",
        "01-baseline",
        "01-baseline",
    ]


def test_a_loss_against_the_twin_of_the_session_is_told_before_one_against_a_stored_number() -> None:
    baseline = regressed("stored_baseline", "baseline")
    twin = regressed("speculation_beats_its_twin", "twin", launch="02-eagle3")
    assert [v.check for v in worst_first([baseline, twin])] == [
        "speculation_beats_its_twin",
        "stored_baseline",
    ]


def test_of_kept_promises_the_answers_come_first_and_what_all_rely_on_last() -> None:
    kept = (
        "steadiness",
        "clean_slate",
        "nccl_tuning",
        "environment_truth",
        "nccl_truth",
        "stored_baseline",
        "speculation_beats_its_twin",
    )
    assert told(*((check, Outcome.PASS, 0.1) for check in kept)) == [
        "speculation_beats_its_twin",
        "stored_baseline",
        "nccl_truth",
        "nccl_tuning",
        "clean_slate",
        "steadiness",
        "environment_truth",
    ]


def test_the_two_numbers_of_a_comparison_do_not_stand_among_the_answers() -> None:
    sides = [("nccl_tuning", Outcome.PASS, None), ("nccl_truth", Outcome.PASS, None)]
    assert told(*sides) == ["nccl_truth", "nccl_tuning"]
    assert told(*sides, ("nccl_tuning", Outcome.PASS, 0.4)) == ["nccl_truth", "nccl_tuning", "nccl_tuning"]
