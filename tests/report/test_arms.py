from __future__ import annotations

import pytest

from tests.report.examples import rig, run_evidence
from tokgate.records import Role
from tokgate.report.arithmetic import Arithmetic, arithmetic_rows
from tokgate.report.arms import ArmRow, arm_rows, starts_of
from tokgate.report.chart import charts
from tokgate.report.series import Point, Series, series_of
from tokgate.stats.summary import summarise


def series(launch: str, role: Role, metric: str, *values: float) -> Series:
    return Series(
        launch=launch,
        arm=launch[3:],
        role=role,
        workload="single",
        metric=metric,
        unit="",
        sources=("test",),
        points=tuple(Point(index=i, value=v) for i, v in enumerate(values)),
        summary=summarise(values) if values else None,
    )


def row(rows: tuple[ArmRow, ...], launch: str) -> ArmRow:
    return next(r for r in rows if r.launch == launch)


def test_the_break_even_cycle_is_that_of_the_arithmetic() -> None:
    known = Arithmetic(
        launch="02-eagle3", arm="eagle3", workload="single", draft_model="/d", concurrency=1,
        tokens=256, break_even_cycle_ms=20.75,
    )  # fmt: skip
    rows = arm_rows(
        [
            series("01-baseline", "control", "decode_tok_s", 88.8),
            series("02-eagle3", "arm", "decode_tok_s", 60.0),
            series("02-eagle3", "arm", "cycle_ms", 30.6),
            series("02-eagle3", "arm", "accept_length", 1.85),
        ],
        {},
        (known,),
    )
    arm = row(rows, "02-eagle3")
    assert arm.break_even_cycle_ms == 20.75
    assert arm.speed_up == pytest.approx(0.676, abs=0.001)
    control = row(rows, "01-baseline")
    assert (control.cycle_ms, control.accept_length, control.break_even_cycle_ms) == (None, None, None)


def test_both_controls_together_are_the_twin() -> None:
    rows = arm_rows(
        [
            series("01-baseline", "control", "decode_tok_s", 90.0),
            series("02-eagle3", "arm", "decode_tok_s", 180.0),
            series("03-baseline-again", "control-again", "decode_tok_s", 110.0),
        ],
        {"single": 1},
    )
    assert [r.speed_up for r in rows] == pytest.approx([0.9, 1.8, 1.1])


def test_without_a_control_nothing_is_compared() -> None:
    (only,) = arm_rows([series("02-eagle3", "arm", "decode_tok_s", 60.0)], {})
    assert (only.decode_tok_s, only.speed_up, only.break_even_cycle_ms) == (60.0, None, None)


def test_an_arm_of_which_nothing_is_known_says_so() -> None:
    (only,) = arm_rows([series("02-eagle3", "arm", "decode_tok_s")], {})
    assert (only.n, only.decode_tok_s) == (0, None)


def test_one_row_per_launch_and_workload() -> None:
    rows = arm_rows(series_of(run_evidence()), {"conc4": 4})
    assert len(rows) == len({(r.launch, r.workload) for r in rows}) == 6


def test_of_several_streams_the_total_is_compared_as_the_twin_check_does() -> None:
    """Each stream decodes a little faster, all of them together get less done."""
    given = [
        series("01-baseline", "control", "decode_tok_s", 49.2),
        series("01-baseline", "control", "total_tok_s", 373.8),
        series("02-eagle3", "arm", "decode_tok_s", 49.5),
        series("02-eagle3", "arm", "total_tok_s", 367.3),
    ]
    together = row(arm_rows(given, {"single": 8}), "02-eagle3")
    assert together.speed_up == pytest.approx(0.983, abs=0.001)
    assert (together.decode_tok_s, together.total_tok_s, together.compared) == (49.5, 367.3, "total")
    alone = row(arm_rows(given, {"single": 1}), "02-eagle3")
    assert alone.speed_up == pytest.approx(1.006, abs=0.001)
    assert (alone.total_tok_s, alone.compared) == (None, "")


def test_starts_that_only_tell_what_the_probe_costs_are_no_arm_s() -> None:
    judged = series("05-eagle3-phases", "instrumented", "decode_tok_s", 92.7)
    off = judged.model_copy(update={"workload": "probe-off"})
    assert [r.workload for r in arm_rows([judged, off], {})] == ["single"]
    (chart,) = charts([judged, off])
    assert [panel.workload for panel in chart.panels] == ["single"]


def test_streams_that_began_together_count_as_one_start_as_in_the_arithmetic() -> None:
    evidence = run_evidence()
    rows = arm_rows(series_of(evidence), {"conc4": 4}, (), starts_of(evidence))
    told = {r.workload: r for r in rows if r.launch == "02-eagle3-2step"}
    (known,) = (r for r in arithmetic_rows(rig(), evidence) if r.workload == "conc4")
    assert (told["conc4"].n, told["single"].n) == (4, 15)
    assert (told["conc4"].decode_tok_s, told["conc4"].cycle_ms) == (known.measured_tok_s, known.cycle_ms)
