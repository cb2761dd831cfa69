from __future__ import annotations

from tests.report import example_verdicts, examples
from tokgate.report.verdict_json import build
from tokgate.report.verdict_rows import VerdictRow, verdict_rows


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
