"""The table is complete, and the document says the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import pytest

from simbox.scenario import known

from .expecting import INCONCLUSIVE, INVALID, PASS, REGRESSED, Row
from .gate_run import ROOT
from .rows import ELSEWHERE, ROWS

DOCUMENT = ROOT / "docs" / "scenarios.md"


@pytest.fixture(scope="module")
def documented() -> Mapping[str, tuple[str, str]]:
    """Return what the document says of each scenario: what the gate must conclude, and the layer that names it."""
    rows = [
        [cell.strip(" `") for cell in line.split("|")]
        for line in DOCUMENT.read_text(encoding="utf-8").split("## Knobs")[0].splitlines()
        if line.startswith("| `")
    ]
    return {cells[1]: (cells[3], cells[4]) for cells in rows}


def test_every_scenario_has_a_row_and_every_row_a_scenario() -> None:
    named = [row.scenario for row in ROWS]
    assert [name for name, times in Counter(named).items() if times > 1] == []
    assert set(named) | set(ELSEWHERE) == set(known())
    assert not set(named) & set(ELSEWHERE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.scenario)
def test_a_row_asks_for_a_cause_in_words_or_evidence(row: Row) -> None:
    assert row.says
    assert row.keeps or any(says.words for says in row.says) or row.later
    decisive = {says.outcome for says in row.says}
    assert row.outcome in decisive, "no verdict asked for explains how the session ends"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.scenario)
def test_the_document_concludes_the_same(row: Row, documented: Mapping[str, tuple[str, str]]) -> None:
    gate, layer = documented[row.scenario]
    concluded = re.findall(f"{PASS}|{INCONCLUSIVE}|{INVALID}|{REGRESSED}", gate.split(":")[0])
    assert row.outcome in concluded, gate
    if row.later is not None:
        assert row.later.split(":")[0] in layer, (
            f"the document does not say what is judged later: {row.later}"
        )


def test_the_document_says_which_layers_judge_later(documented: Mapping[str, tuple[str, str]]) -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    for layer in sorted({row.later.split(":")[0] for row in ROWS if row.later}):
        assert re.search(rf"judged later[^.]*\b{layer}\b", text), layer
    assert documented


def test_enough_of_it_runs_everywhere() -> None:
    quick = [row for row in ROWS if not row.slow]
    assert len(quick) >= 20
    assert {PASS, INVALID, REGRESSED} <= {row.outcome for row in quick}
