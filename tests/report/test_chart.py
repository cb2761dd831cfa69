from __future__ import annotations

import pytest

from tests.report.examples import run_evidence
from tests.report.test_arms import series
from tokgate.report.chart import WIDTH, Scale, charts, round_values
from tokgate.report.series import series_of


@pytest.mark.parametrize(
    ("low", "high", "values"),
    [
        (0, 10, (0, 2, 4, 6, 8, 10)),
        (59.2, 61.1, (59.5, 60.0, 60.5, 61.0)),
        (-3, 3, (-2, 0, 2)),
        (1e-4, 3e-4, (1e-4, 1.5e-4, 2e-4, 2.5e-4, 3e-4)),
        (5, 5, (5,)),
    ],
)
def test_ticks_are_round(low: float, high: float, values: tuple[float, ...]) -> None:
    assert round_values(low, high) == pytest.approx(values)


@pytest.mark.parametrize("values", [(1.0,), (0.0,), (-5.0, -5.0), (1.0, 1e9), (1e-12, 2e-12)])
def test_every_value_lies_inside_the_picture(values: tuple[float, ...]) -> None:
    scale = Scale(values)
    assert all(0 < scale(v) < WIDTH for v in values)


def test_equal_values_lie_in_the_middle() -> None:
    assert Scale([80.0, 80.0])(80.0) == WIDTH / 2


def test_one_chart_per_metric_with_every_generation_of_every_launch() -> None:
    found = {c.metric: c for c in charts(series_of(run_evidence()))}
    decode = found["decode_tok_s"]
    assert [p.workload for p in decode.panels] == ["single", "conc4"]
    assert [len(r.dots) for p in decode.panels for r in p.rows] == [15, 15, 15, 16, 16, 16]
    assert [r.kind for r in decode.panels[0].rows] == ["control", "arm", "control"]
    assert decode.axis == "tok/s, higher is better"
    assert found["cycle_ms"].axis == "ms, lower is better"


def test_a_dot_tells_its_value_and_the_row_its_median_and_interval() -> None:
    chart = charts([series("01-x", "control", "decode_tok_s", *range(10, 22))])[0]
    (row,) = chart.panels[0].rows
    assert row.dots[0].title == "01-x, single #0: 10.0"
    assert row.title == "01-x, single: median 15.5, 95% interval of the median 12.0 … 19.0, n=12"
    assert row.interval is not None
    assert row.median is not None
    assert row.interval[0] < row.median < row.interval[1]


def test_too_few_values_have_no_band() -> None:
    (row,) = charts([series("01-x", "arm", "decode_tok_s", 1.0, 2.0)])[0].panels[0].rows
    assert row.interval is None
    assert "too few values" in row.title


def test_a_metric_of_which_nothing_is_known_has_no_chart() -> None:
    assert charts([series("01-x", "arm", "decode_tok_s")]) == ()


def test_hundreds_of_dots_do_without_a_tooltip_each_and_are_thinned() -> None:
    (row,) = charts([series("01-x", "arm", "decode_tok_s", *range(1, 1201))])[0].panels[0].rows
    assert row.note == f"600.5  n=1200, {len(row.dots)} drawn"
    assert len(row.dots) <= 302
    assert {d.title for d in row.dots} == {None}
    assert not row.titled


def test_a_chart_is_the_same_on_every_rendering() -> None:
    assert charts(series_of(run_evidence())) == charts(series_of(run_evidence()))
