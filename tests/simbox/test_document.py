"""docs/scenarios.md lists every scenario and every knob, in their own words."""

from __future__ import annotations

from simbox.document import DOCUMENT, listed, with_tables
from simbox.scenario import known


def test_the_document_is_current() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_tables(text), "python -m simbox.document writes its tables anew"


def test_every_scenario_is_listed_once() -> None:
    assert sorted(listed(DOCUMENT.read_text(encoding="utf-8"))) == sorted(known())


def test_only_what_stands_between_marks_is_written() -> None:
    text = "before\n<!-- scenarios: dies -->\nstale row\n<!-- end -->\nbetween\n<!-- knobs -->\n<!-- end -->\nafter\n"
    written = with_tables(text)
    assert "stale row" not in written
    assert "| `dies` | a rank dies in request 4 |" in written
    assert "| `verify_graph` | `true` | true or false |" in written
    assert [line for line in written.splitlines() if not line.startswith(("|", "<"))] == [
        "before", "between", "after",
    ]  # fmt: skip
