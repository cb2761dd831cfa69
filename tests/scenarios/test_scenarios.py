"""What is wrong with the box is found by the gate, as rows.py specifies it."""

from __future__ import annotations

import pytest

from tokgate.records.verdict import EXIT_CODES, Outcome

from .expecting import Row
from .gate_run import FOR_PEOPLE, GateRun
from .rows import PLAIN_WORDS, ROWS

pytestmark = pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.scenario, marks=[pytest.mark.slow] if row.slow else []) for row in ROWS]
)


def test_the_session_ends_as_it_must(row: Row, played: GateRun) -> None:
    ended = (played.code, played.verdict["outcome"])
    assert ended == (EXIT_CODES[Outcome(row.outcome)], row.outcome), played.told()


def test_the_cause_is_told(row: Row, played: GateRun) -> None:
    lacking = row.lacks(played)
    assert not lacking, "\n".join([*lacking, "", played.told()])


def test_whoever_measured_was_not_told_its_name(row: Row, played: GateRun) -> None:
    """In none of its files, where the name is no word of plain English; never in the record of what was run."""
    kept = {
        str(p.relative_to(played.folder)): p.read_bytes()
        for p in played.folder.rglob("*")
        if p.is_file() and p.name not in FOR_PEOPLE
    }
    if row.scenario in PLAIN_WORDS:
        kept = {name: kept[name] for name in ("run.json", "rig.json", "fingerprint.json")}
    assert [name for name, text in kept.items() if row.scenario.encode() in text] == []
