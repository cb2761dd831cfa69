from __future__ import annotations

from tests.report import example_verdicts, examples, hostile
from tokgate.report.junit import run_properties, verdict_properties
from tokgate.report.verdict_json import build


def test_the_suite_carries_outcome_and_exit_code() -> None:
    file = build(examples.run_evidence(simulated=True), example_verdicts.six_outcomes(), examples.rig())
    told = dict(run_properties(file))
    assert told["tokgate.outcome"] == "regressed"
    assert told["tokgate.exit_code"] == "13"
    assert told["tokgate.simulated"] == "true"


def test_a_test_carries_what_its_verdicts_measured() -> None:
    told = dict(verdict_properties(example_verdicts.six_outcomes()[2:3]))
    assert told["tokgate.outcome"] == "regressed"
    assert told["tokgate.value.decode_tok_s.eagle3-2step.single"] == "60.2"
    assert told["tokgate.unit.decode_tok_s.eagle3-2step.single"] == "tok/s"
    assert told["tokgate.reference.decode_tok_s.eagle3-2step.single"] == "88.5"


def test_unknown_has_no_property() -> None:
    told = dict(verdict_properties(example_verdicts.six_outcomes()[4:5]))
    assert sorted(told) == ["tokgate.headline.decode_tok_s.eagle3-pinned.single", "tokgate.outcome"]


def test_a_test_without_a_verdict_has_none() -> None:
    assert list(verdict_properties(())) == []


def test_hostile_text_is_printable_in_names_and_values() -> None:
    told = [
        pair for text in hostile.HOSTILE for pair in verdict_properties((example_verdicts.hostile(text),))
    ]
    assert all(name.isprintable() and value.isprintable() for name, value in told)
