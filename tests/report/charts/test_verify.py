from __future__ import annotations

from typing import Any

from tests.report.charts.test_cycle import budget
from tests.verdicts.evidence import controls, make_rig, make_run
from tests.verdicts.phase_evidence import NAME, carrying, phase, table
from tokgate.records import Verdict
from tokgate.records.phases import PhaseReading
from tokgate.report.charts.drawing import Figure
from tokgate.report.charts.verify import verify
from tokgate.report.verdict_json import build
from tokgate.stats.phases import quantiles

CALLS = [5.0 + i / 1000 for i in range(1000)]


def timed(calls: list[float], **changes: Any) -> PhaseReading:
    return phase(quantiles_ms=quantiles(calls), n=len(calls), **changes)


def drawn(*readings: PhaseReading, verdicts: tuple[Verdict, ...] = ()) -> Figure:
    run = make_run(*controls(), carrying(table(*readings)))
    return verify(build(run, verdicts, make_rig()), run)


def test_the_curve_goes_from_the_shortest_call_to_the_longest() -> None:
    curve, marks = drawn(timed(CALLS)).views[0].panels[0].traces
    assert (curve.x[0], curve.x[-1]) == (5.0, 5.999)
    assert (curve.y[0], curve.y[-1]) == (0, 100)
    assert list(curve.x) == sorted(curve.x)
    assert curve.note == "1000 calls"
    assert marks.facts["is"] == ("p50", "p95")
    assert marks.x == (5.499, 5.949)
    assert marks.y == (50, 95)


def test_of_several_ranks_the_slowest_is_drawn() -> None:
    figure = drawn(timed(CALLS), timed([c + 1 for c in CALLS], rank=3, p50_ms=6.5))
    assert figure.views[0].panels[0].traces[0].label == f"{NAME}, rank 3, gpu clock"
    assert len(figure.rows) == 1


def test_two_modes_are_two_steps() -> None:
    curve = drawn(timed([5.0] * 700 + [9.0] * 300)).views[0].panels[0].traces[0]
    assert set(curve.x) == {5.0, 9.0}
    assert dict(zip(curve.x, curve.y, strict=True))[5.0] == 70


def test_limits_are_upright_lines_and_it_says_how_many_calls_are_beyond() -> None:
    figure = drawn(timed(CALLS), verdicts=(budget(5.9, "ceiling 5.9 ms"),))
    (line, *_) = figure.views[0].panels[0].lines
    assert (line.way, line.at) == ("x", 5.9)
    assert "about 10.0% of them above the tightest limit, 5.90 ms" in figure.says[0]
    assert "all of them above" in drawn(timed(CALLS), verdicts=(budget(4.9, "x"),)).says[0]
    assert "none of them above" in drawn(timed(CALLS), verdicts=(budget(6.0, "x"),)).says[0]


def test_without_single_calls_it_says_so() -> None:
    nothing = drawn(phase())
    assert nothing.views == ()
    assert "No single verify call was timed" in nothing.says[0]
