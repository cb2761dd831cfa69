"""What stands in sight of the verdict table, what is folded, and what may be chosen."""

from __future__ import annotations

from tests.report import example_verdicts, examples, hostile
from tokgate.records import Outcome, Verdict
from tokgate.report.room import MOST_FIRST
from tokgate.report.verdict_json import build
from tokgate.report.verdict_table import VerdictTable, verdict_table


def table(*verdicts: Verdict) -> VerdictTable:
    return verdict_table(build(examples.run_evidence(), verdicts, examples.rig()))


def test_what_was_not_kept_and_the_twins_are_in_sight_and_the_rest_is_folded() -> None:
    passed, improved, lost, *_ = example_verdicts.six_outcomes()
    won = lost.model_copy(update={"outcome": Outcome.PASS, "change": 0.05})
    found = table(passed, improved, lost, won)
    assert [(e.row.check, e.row.outcome) for e in found.first] == [
        ("speculation_beats_its_twin", "regressed"),
        ("speculation_beats_its_twin", "pass"),
    ]
    assert {group.group.check for group in found.kept} == {"stored_baseline", "time_to_first_token"}


def test_two_kept_verdicts_of_one_check_are_one_line_and_not_two_halves() -> None:
    passed = example_verdicts.six_outcomes()[0]
    other = passed.model_copy(update={"workload": "conc8"})
    assert [g.group.share() for g in table(passed, other).kept] == ["2 of 2"]


def test_every_row_carries_the_class_of_each_choice_that_keeps_it() -> None:
    found = table(*example_verdicts.six_outcomes())
    rows = [*found.first, *(row for group in found.kept for row in group.rows)]
    (workload,) = [f for f in found.filters if f.name == "workload"]
    for choice in workload.choices:
        mine = [e for e in rows if choice.css in e.css.split()]
        assert {e.row.workload for e in mine} == {choice.label}
        assert len(mine) == choice.count


def test_where_there_is_nothing_to_choose_from_no_choice_is_offered() -> None:
    assert table(example_verdicts.six_outcomes()[0]).filters == ()


def test_a_foreign_name_never_becomes_part_of_a_style() -> None:
    found = table(example_verdicts.six_outcomes()[0], example_verdicts.hostile(hostile.MARKUP))
    names = [choice.css for one in found.filters for choice in one.choices]
    assert all(name[0] in "oaw" and name[1:].isdigit() for name in names)


def test_verdicts_that_follow_from_one_fault_are_one_line_behind_the_first() -> None:
    lost = example_verdicts.six_outcomes()[2]

    def dead(check: str) -> Verdict:
        return Verdict(check=check, outcome=Outcome.INVALID, headline=f"{check} on 02-a: the server was dead")

    other = Verdict(check="lossless", outcome=Outcome.INVALID, headline="lossless on 02-a: outputs are short")
    found = table(lost, *map(dead, ("steadiness", "cache_state", "restarts", "cycle_time")), other)
    assert [e.row.check for e in found.first] == [lost.check, "steadiness", "lossless"]
    (same,) = found.following
    assert (same.reason, same.checks) == ("the server was dead", "cache_state, restarts, cycle_time")
    assert [e.row.check for e in same.rows] == ["cache_state", "restarts", "cycle_time"]


def test_of_a_session_too_long_for_the_page_the_first_stand_there_and_the_others_are_counted() -> None:
    lost = example_verdicts.six_outcomes()[2]
    found = table(*(lost.model_copy(update={"launch": f"{n}-a"}) for n in range(MOST_FIRST + 7)))
    assert len(found.first) == MOST_FIRST
    assert found.left == 7
