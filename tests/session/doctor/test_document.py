"""docs/doctor.md names every check as the code has it, and no other."""

from __future__ import annotations

from pathlib import Path

from tokgate.session.doctor.checks import CHECKS, GROUPS
from tokgate.session.doctor.document import with_tables

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"


def test_the_page_is_as_the_code_has_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_tables(text), "write it anew: python -m tokgate.session.doctor.document"
    assert all(f"| `{check.name}` |" in text for check in CHECKS)


def test_names_are_unique_and_of_a_group_that_is_told() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert {name.partition(".")[0] for name in names} == set(GROUPS)
    assert all(check.looks[0].islower() and check.prevents for check in CHECKS)
