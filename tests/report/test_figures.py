from __future__ import annotations

import math

import pytest

from tests.report.example_verdicts import six_outcomes
from tokgate.report import figures


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (60.2345, "decode_tok_s", "60.2"),
        (30.7123, "cycle_ms", "30.71"),
        (4179.4, "e2e_ms", "4179"),
        (1234.5678, None, "1235"),
        (0.012345, None, "0.01235"),
        (15.0, None, "15"),
        (0.0, None, "0"),
        (-2.5, None, "-2.500"),
        (1.5e-9, None, "1.500e-09"),
        (0.004, "decode_tok_s", "0.004000"),
        (None, "cycle_ms", "unknown"),
        (math.nan, "cycle_ms", "unknown"),
        (math.inf, None, "unknown"),
    ],
)
def test_numbers(value: float | None, metric: str | None, text: str) -> None:
    assert figures.number(value, metric) == text


def test_unknown_has_no_unit() -> None:
    assert figures.quantity(None, "ms") == "unknown"
    assert figures.quantity(2.5, "ms", "tpot_ms") == "2.50 ms"


def test_a_change_is_in_per_cent_with_its_sign() -> None:
    assert [figures.percent(c) for c in (-0.363, 0.02, None)] == ["-36.3 %", "+2.0 %", "unknown"]


def test_an_interval_is_of_the_change_where_there_is_one() -> None:
    by_check = {v.check: figures.interval(v) for v in six_outcomes() if v.interval}
    assert by_check["speculation_beats_its_twin"] == "-32.6 % … -31.4 %"
    assert by_check["time_to_first_token"] == "79.0 … 81.5 ms"


def test_what_does_not_apply_is_not_zero() -> None:
    assert figures.optional(None, "cycle_ms") == "\N{EN DASH}"
    assert figures.optional(0.0) == "0"


def test_a_metric_that_nobody_knows_keeps_its_own_name() -> None:
    assert figures.words("something_new") == "something_new"
    assert figures.better("something_new") is None
