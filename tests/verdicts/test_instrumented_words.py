from __future__ import annotations

import re

import pytest

from tests.verdicts.search_evidence import made, unit
from tokgate.records.side import SidesMade, SideState
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.levels import RunValues
from tokgate.verdicts.instrumented_words import headline, subject_of

RULE = Rule(higher_is_better=True, relative=0.02, absolute=0.0, level=0.01, confirm=False)


def decision(with_them: float) -> Decision:
    def runs(speed: float) -> list[RunValues]:
        return [RunValues(session="s", launch=str(n), values=(speed, speed * 1.001)) for n in range(4)]

    return decide(runs(with_them), runs(94.0), RULE, kind="side")


def tree(*changed: str, patches: int = 0) -> SidesMade:
    units = tuple(unit(n, kind="patch") for n in range(1, patches + 1)) or (unit(1, kind="uncommitted"),)
    whole = made(units)

    def told(side: SideState) -> SideState:
        return side.model_copy(update={"changed": changed}) if side.name == "head" else side

    return whole.model_copy(update={"sides": tuple(map(told, whole.sides))})


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (tree("a.py", "b.py", "c.py", "d.py"), "your 4 changed files"),
        (tree("a.py"), "your 1 changed file"),
        (tree("a.py", "b.py", patches=2), "your 2 patches (2 files)"),
        (tree("a.py", patches=1), "your patch (1 file)"),
        (None, "what you changed"),
    ],
)
def test_the_subject_is_what_the_user_changed(sides: SidesMade | None, words: str) -> None:
    assert subject_of(sides)[0].replace("your changed file", "your 1 changed file") == words


def test_a_cost_says_that_numbers_taken_with_them_are_not_the_servers() -> None:
    told = headline(decision(87.0), tree("a.py", "b.py"), "decode 87.0 tok/s")
    assert told.startswith("your 2 changed files cost 7.4 % [")
    assert "numbers taken with them are not the server's: decode 87.0 tok/s" in told


def test_the_phase_of_a_cost_stands_right_behind_it() -> None:
    lies = ", verify +0.80 ms of the +0.82 ms a cycle"
    told = headline(decision(87.0), tree("a.py"), "decode 87.0 tok/s", where=lies)
    assert re.search(r"costs 7.4 % \[\S+ \S+, verify \+0.80 ms of the \+0.82 ms a cycle; numbers taken", told)


def test_no_cost_says_what_it_is_at_most() -> None:
    told = headline(decision(94.0), tree("a.py"), "decode 94.0 tok/s")
    assert told.startswith("your changed file costs nothing worth calling, ")
    assert "% at most; numbers taken with it are the server's as far as that" in told


def test_what_is_undecided_stays_as_it_was_told() -> None:
    few = decide(
        [RunValues(session="s", launch="1", values=(91.5,))],
        [RunValues(session="s", launch="2", values=(94.0,))],
        RULE,
        kind="side",
    )
    assert headline(few, tree("a.py"), "decode 91.5 tok/s") == "decode 91.5 tok/s"
