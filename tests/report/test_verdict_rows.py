from __future__ import annotations

from tests.report import example_verdicts, examples
from tokgate.records import Reference
from tokgate.report.terminal import verdict_text
from tokgate.report.verdict_json import build
from tokgate.report.verdict_rows import VerdictRow, difference_rows, verdict_rows


def rows() -> dict[str, VerdictRow]:
    file = build(examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())
    return {row.outcome: row for row in verdict_rows(file)}


def test_a_row_has_value_reference_change_interval_floor_n_and_source() -> None:
    row = rows()["regressed"]
    assert (row.value, row.reference, row.change) == ("60.2 tok/s", "88.5", "-32.0 %")
    assert (row.interval, row.n, row.source) == ("-32.6 % … -31.4 %", "15", "meta_info.decode_throughput")
    assert row.floor == "3.0% and 0.5 tok/s, both exceeded"
    assert row.reference_label == "twin: baseline arm of this session"


def test_what_was_not_measured_is_no_number() -> None:
    row = rows()["invalid"]
    assert {row.value, row.reference, row.change, row.interval, row.n} == {"\N{EN DASH}"}


def test_only_pass_and_improved_are_kept_promises() -> None:
    assert {name for name, row in rows().items() if row.kept} == {"pass", "improved"}


def test_a_number_without_a_limit_is_a_note() -> None:
    passed = example_verdicts.six_outcomes()[0].model_copy(update={"floor": None})
    (row,) = verdict_rows(build(examples.run_evidence(), (passed,), examples.rig()))
    assert (row.outcome, row.kept) == ("note", True)


def test_what_differs_is_told_once_with_all_it_stands_beside() -> None:
    improved = example_verdicts.six_outcomes()[1]
    assert improved.reference is not None
    files = [improved.reference.model_copy(update={"label": f"{n}.json"}) for n in range(5)]
    beside = tuple(improved.model_copy(update={"reference": file}) for file in files)
    (row,) = difference_rows(build(examples.run_evidence(), beside, examples.rig()))
    assert (row.difference.key, row.checks) == ("gpu.0.driver", "stored_baseline")
    assert row.references == "0.json, 1.json, 2.json, 2 more"


def test_a_reference_that_is_no_number_is_not_unknown() -> None:
    """What lossless compares with is a launch's answers."""
    twin = Reference(kind="twin", label="01-baseline", n=6)
    lossless = example_verdicts.six_outcomes()[0].model_copy(update={"reference": twin, "change": None})
    (row,) = verdict_rows(build(examples.run_evidence(), (lossless,), examples.rig()))
    assert (row.reference, row.reference_label) == ("\N{EN DASH}", "twin: 01-baseline")
    assert "  against: twin: 01-baseline, n=6" in verdict_text(lossless).splitlines()
