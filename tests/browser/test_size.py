"""A report is mailed and kept: ten launches and a hundred and fifty verdicts stay below two megabytes."""

from __future__ import annotations

from tests.browser.conftest import Report

MOST = 2_000_000


def test_a_long_session_makes_a_report_that_can_be_mailed(report: Report) -> None:
    path = report("large")
    assert path.stat().st_size <= MOST
    assert path.read_text("utf-8").count('class="v ') == 150
