from __future__ import annotations

import itertools

import pytest

from tests.report.example_verdicts import six_outcomes
from tokgate.records import PRECEDENCE, Outcome, Verdict
from tokgate.report.conclusion import SessionEnd, conclude, word_of

BY_OUTCOME = {v.outcome: v for v in six_outcomes()}
CODES = {"pass": 0, "improved": 0, "no-baseline": 12, "inconclusive": 10, "invalid": 11, "regressed": 13}


@pytest.mark.parametrize("pair", list(itertools.combinations(PRECEDENCE, 2)), ids=lambda p: f"{p[0]}+{p[1]}")
def test_of_two_outcomes_the_one_earlier_in_the_precedence_stands(pair: tuple[Outcome, Outcome]) -> None:
    told = conclude([BY_OUTCOME[pair[1]], BY_OUTCOME[pair[0]]])
    assert (told.outcome.value, told.exit_code) == (pair[0].value, CODES[pair[0].value])


def test_nothing_judged_is_invalid() -> None:
    told = conclude([])
    assert (told.outcome.value, told.exit_code) == ("invalid", 11)
    assert told.do


@pytest.mark.parametrize(
    ("status", "outcome"), [(2, "interrupted"), (3, "error"), (4, "error"), (6, "error"), (77, "error")]
)
def test_pytests_own_status_stands_and_is_never_called_a_pass(status: int, outcome: str) -> None:
    told = conclude([BY_OUTCOME[Outcome.PASS]], SessionEnd(status=status))
    assert (told.outcome.value, told.exit_code) == (outcome, status)
    assert "1 verdict: 1 pass" in told.headline


def test_no_test_selected_keeps_its_status() -> None:
    assert conclude([], SessionEnd(status=5)).exit_code == 5


def test_a_failure_that_no_verdict_explains_outranks_every_verdict() -> None:
    told = conclude(six_outcomes(), SessionEnd(status=1, unclassified=("a::b", "a::c")))
    assert (told.outcome.value, told.exit_code) == ("error", 1)
    assert "a::b and 1 more" in told.headline


def test_a_failed_status_without_any_explanation_is_a_failure() -> None:
    assert conclude([BY_OUTCOME[Outcome.PASS]], SessionEnd(status=1)).exit_code == 1
    assert conclude([BY_OUTCOME[Outcome.INVALID]], SessionEnd(status=1)).exit_code == 11


def test_the_headline_is_that_of_the_deciding_verdict_and_counts_its_equals() -> None:
    regressed = BY_OUTCOME[Outcome.REGRESSED]
    assert conclude(six_outcomes()).headline == regressed.headline
    assert conclude([regressed, regressed]).headline == f"{regressed.headline} (and 1 more regressed)"
    assert conclude([BY_OUTCOME[Outcome.IMPROVED]]).headline == "1 of 1 stored numbers improved"


def test_every_outcome_that_is_no_pass_says_what_to_do() -> None:
    for verdict in six_outcomes():
        kept = verdict.outcome in (Outcome.PASS, Outcome.IMPROVED)
        assert (conclude([verdict]).do is None) == kept


def test_a_drift_as_large_as_every_regression_leads_the_headline() -> None:
    regressed = BY_OUTCOME[Outcome.REGRESSED]  # -32 %
    drift = Verdict(
        check="drift",
        outcome=Outcome.INCONCLUSIVE,
        headline="the machine drifted -35.0%",
        workload="single",
        change=-0.35,
        do="look at clocks",
    )
    told = conclude([regressed, drift])

    assert (told.outcome.value, told.exit_code) == ("regressed", 13)
    assert told.headline.startswith(
        "the machine drifted -35.0%; no regression is larger than that: speculation"
    )
    assert told.do == "look at clocks"
    for other in ({"change": -0.05}, {"workload": "conc4"}, {"outcome": Outcome.PASS}):
        assert conclude([regressed, drift.model_copy(update=other)]).headline == regressed.headline


def test_a_number_without_a_limit_is_a_note_and_not_counted_as_a_pass() -> None:
    passed = BY_OUTCOME[Outcome.PASS]
    unlimited = passed.model_copy(update={"floor": None})

    assert (word_of(passed), word_of(unlimited)) == ("pass", "note")
    told = conclude([passed, unlimited, unlimited])
    assert told.headline == "3 verdicts: 1 pass, 2 measured without a limit"
    assert conclude([unlimited]).headline == "1 verdict: 1 measured without a limit"


def test_a_check_without_a_metric_is_a_pass_not_a_note() -> None:
    assert word_of(Verdict(check="clean_slate", outcome=Outcome.PASS, headline="clean")) == "pass"


def test_the_headline_of_a_session_without_a_loss_is_its_answer() -> None:
    won = BY_OUTCOME[Outcome.REGRESSED].model_copy(
        update={"outcome": Outcome.PASS, "value": 93.5, "change": 0.05}
    )
    assert conclude([BY_OUTCOME[Outcome.PASS], won]).headline == (
        "EAGLE-3 93.5 against 88.5 tok/s, 1.05x its twin (single)"
    )
