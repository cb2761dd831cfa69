"""Looks are counted by decisions of the stop rule, not by runs."""

from __future__ import annotations

from tokgate.records import Launch, LaunchEvidence
from tokgate.verdicts.looks import look_of


def run(name: str, number: int = 0) -> LaunchEvidence:
    return LaunchEvidence(launch=Launch(id=name, arm="a", role="restart" if number else "arm", round=number))


def test_planned_runs_are_one_look() -> None:
    assert look_of([]) == 1
    assert look_of([run("01"), run("03")]) == 1


def test_runs_that_one_decision_asked_for_are_one_look_more() -> None:
    assert look_of([run("01"), run("07", 1), run("08", 1)]) == 2
    assert look_of([run("01"), run("07", 1), run("08", 3)]) == 3
