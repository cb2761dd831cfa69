from __future__ import annotations

from tests.report.example_verdicts import six_outcomes
from tokgate.records import Outcome, Verdict
from tokgate.report.kept import together


def verdict(check: str, outcome: Outcome = Outcome.PASS, change: float | None = None) -> Verdict:
    return Verdict(check=check, outcome=outcome, headline=check, change=change, workload="single")


def test_repeated_passes_stand_together_where_the_first_stood() -> None:
    groups = together([verdict("a"), verdict("b"), verdict("a")], least=2)
    assert [(g.check, len(g.verdicts)) for g in groups] == [("a", 2), ("b", 1)]
    assert groups[0].share() == "2 of 2"


def test_one_that_did_not_hold_stands_alone_and_is_counted_in_the_share() -> None:
    groups = together([verdict("a", Outcome.INVALID), verdict("a"), verdict("a")], least=2)
    assert [(g.word, g.several) for g in groups] == [("invalid", False), ("pass", True)]
    assert groups[1].share() == "2 of 3"


def test_fewer_than_asked_for_stay_apart() -> None:
    assert [g.several for g in together([verdict("a"), verdict("a")], least=3)] == [False, False]


def test_only_the_checks_that_are_named_and_never_those_that_are_excepted() -> None:
    twice = [verdict("a"), verdict("b"), verdict("a"), verdict("b")]
    assert [g.several for g in together(twice, least=2, checks=("a",))] == [True, False, False]
    assert [g.several for g in together(twice, least=2, never=("a",))] == [False, True, False]


def test_a_note_does_not_stand_among_passes() -> None:
    passed = six_outcomes()[0]
    note = passed.model_copy(update={"floor": None})
    assert [g.word for g in together([passed, note, passed, note], least=2)] == ["pass", "note"]


def test_what_is_kept_by_another_word_is_not_missing_in_a_share() -> None:
    """Passes told as 2 of 6 beside notes told as 4 of 6 read as if most of it had not held."""
    passed = six_outcomes()[0]
    note = passed.model_copy(update={"floor": None})
    groups = together([passed, passed, note, note, note, note], least=2)
    assert [(g.word, g.share()) for g in groups] == [("pass", "2 of 2"), ("note", "4 of 4")]


def test_the_largest_change_is_told() -> None:
    (group,) = together([verdict("a", change=0.01), verdict("a", change=-0.03)], least=2)
    assert group.span() == "up to -3.0 % (single)"
    (still,) = together([verdict("a"), verdict("a")], least=2)
    assert still.span() == ""
