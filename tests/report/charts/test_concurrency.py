from __future__ import annotations

from tests.report.test_gain import levels, session
from tests.verdicts.evidence import make_run
from tokgate.records import LaunchEvidence
from tokgate.report.charts.concurrency import concurrency
from tokgate.report.charts.drawing import Figure
from tokgate.report.verdict_json import build


def drawn(**factors: float) -> Figure:
    launches: tuple[LaunchEvidence, ...] = session(**factors)
    run = make_run(*launches)
    return concurrency(build(run, (), levels(*(int(name[1:]) for name in factors))), run)


def test_both_sides_are_drawn_with_their_intervals_at_every_level() -> None:
    above, below = drawn(c1=1.2, c8=1.1, c32=0.8).views[0].panels
    arm, control = above.traces
    assert (arm.x, control.x) == ((0, 3, 5), (0, 3, 5))
    assert [t.label for t in above.x.ticks] == ["1", "8", "32"]
    assert all(low < y < high for low, y, high in zip(arm.low, arm.y, arm.high, strict=True))  # type: ignore[operator]
    assert arm.mark != control.mark
    assert above.y.unit == "tok/s"
    (ratio,) = below.traces
    assert ratio.facts["so it"] == ("wins", "wins", "loses")
    assert [(line.at, line.label) for line in below.lines] == [(1, "as fast as the control")]


def test_the_crossover_is_the_stretch_between_the_last_win_and_the_first_loss() -> None:
    figure = drawn(c1=1.2, c8=1.1, c32=0.8)
    (band,) = figure.views[0].panels[0].bands
    assert (band.way, band.low, band.high) == ("x", 3, 5)
    assert band.label == "crossover: wins at 8, loses at 32"
    assert "wins up to 8" in figure.says[0]


def test_without_a_loss_in_range_there_is_no_crossover_and_it_says_so() -> None:
    figure = drawn(c1=1.2, c8=1.1)
    assert figure.views[0].panels[0].bands == ()
    assert "a level at which it loses was not measured" in figure.says[0]


def test_of_a_single_concurrency_it_says_that_one_level_has_no_crossover() -> None:
    figure = drawn(c1=1.2)
    assert any("one level has no crossover" in note for note in figure.notes)


def test_what_loses_everywhere_loses_from_the_first_level_on() -> None:
    (band,) = drawn(c1=0.9, c8=0.8).views[0].panels[0].bands
    assert band.label == "loses from 1 on, the first level decided"
    assert band.low < 0


def test_without_a_twin_it_says_so() -> None:
    run = make_run()
    nothing = concurrency(build(run, (), levels(1)), run)
    assert nothing.views == ()
    assert "there is no crossover to look for" in nothing.says[0]
