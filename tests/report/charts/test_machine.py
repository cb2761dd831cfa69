from __future__ import annotations

from typing import Any

from tests.report.hostile import MARKUP
from tests.stats.test_curves import HOT, NS, holders, host, row
from tests.verdicts.evidence import make_rig, make_run
from tests.verdicts.telemetry_windows import watched, window
from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import TelemetryRow
from tokgate.report.charts.drawing import Figure
from tokgate.report.charts.machine import MOST_POINTS, machine
from tokgate.report.fleet_table import FleetTable
from tokgate.report.verdict_json import build
from tokgate.stats.curves import curves_of


def launch(*rows: TelemetryRow, id: str = "01-baseline", **changes: Any) -> LaunchEvidence:  # noqa: A002
    told = watched(*(window(b) for b in range(3)), window(3, workload="conc8"), id=id, **changes)
    return told.model_copy(update={"curves": curves_of(rows)})


def drawn(*launches: LaunchEvidence) -> Figure:
    run = make_run(*launches)
    return machine(build(run, (), make_rig()), run)


ROWS: list[TelemetryRow] = [
    *(row(i / 2, gpu=g, mhz=1980.0 - (i == 20) * 700, reasons=HOT if i in (20, 21) and g == 1 else 0) for i in range(70) for g in (0, 1)),
    holders(0, 2048.0), holders(3, 2048.0), host(0, 0, 100), host(1, 50, 200),
]  # fmt: skip


def test_clock_power_temperature_memory_and_host_each_have_a_picture_with_a_unit() -> None:
    panels = drawn(launch(*ROWS)).views[0].panels
    assert [p.y.unit for p in panels] == ["MHz", "W", "°C", "GiB", "%"]
    assert [t.label for t in panels[0].traces] == ["GPU 0", "GPU 1"]
    assert list(panels[3].traces[0].y) == [2.0, 2.0]
    assert {p.x.unit for p in panels} == {"min"}
    assert len({(p.x.low, p.x.high) for p in panels}) == 1


def test_windows_of_a_workload_are_one_stretch_and_the_launch_begins_with_a_line() -> None:
    panel = drawn(launch(*ROWS)).views[0].panels[0]
    stretches = [(b.label, b.tag) for b in panel.bands if b.tone == "soft"]
    assert stretches == [("01-baseline, single", "single"), ("01-baseline, conc8", "conc8")]
    single = panel.bands[0]
    assert (single.low, single.high) == (0, round(22 / 60, 6))
    assert [line.label for line in panel.lines] == ["01-baseline begins"]


def test_a_card_that_was_held_back_is_marked_and_said_first() -> None:
    figure = drawn(launch(*ROWS))
    (band,) = [b for b in figure.views[0].panels[0].bands if b.tone == "bad"]
    assert band.label == "01-baseline, GPU 1: sw_thermal_slowdown"
    assert figure.says[0] == "Held back by sw_thermal_slowdown: GPU 1 in 01-baseline."
    assert "SM clock 1280 to 1980 MHz" in figure.says[1]


def test_launches_are_apart_and_time_counts_from_the_first_look() -> None:
    later = [r.model_copy(update={"at_ns": r.at_ns + 600 * NS}) for r in ROWS]
    trace = (
        drawn(launch(*ROWS), launch(*later, id="02-eagle3", arm="eagle3-2step", role="arm"))
        .views[0]
        .panels[0]
        .traces[0]
    )
    assert trace.x[0] == 0
    assert trace.x[-1] > 10
    between = [i for i, v in enumerate(trace.y) if v is None]
    assert len(between) == 1
    assert list(trace.x) == sorted(set(trace.x))


def test_a_quiet_machine_says_so_and_a_long_run_that_it_is_thinned() -> None:
    rows = [row(i / 5, mhz=1500.0 + i % 97, gpu=g) for i in range(3000) for g in range(4)]
    figure = drawn(launch(*rows))
    points = sum(len(t.y) for p in figure.views[0].panels for t in p.traces)
    assert figure.says[0] == "No card was held back by heat or hardware."
    assert points < MOST_POINTS
    assert f"{points} points draw " in figure.notes[1]
    assert " 36000 readings" in figure.notes[1]


def test_nobody_watched_is_said() -> None:
    nothing = drawn()
    assert nothing.views == ()
    assert "Nobody watched the machine" in nothing.says[0]


def test_cards_of_several_hosts_are_not_drawn_as_one_machines() -> None:
    run = make_run(launch(*ROWS))
    fleet = FleetTable(hosts=(), shifts=(), groups=())
    figure = machine(build(run, (), make_rig()).model_copy(update={"fleet": fleet}), run)

    assert figure.views == ()
    assert figure.rows
    assert "the page of each draws its own" in figure.says[0]


def test_an_odd_workload_stays_words() -> None:
    told = watched(window(0, workload=MARKUP)).model_copy(update={"curves": curves_of(ROWS)})
    (band,) = [b for b in drawn(told).views[0].panels[0].bands if b.tone == "soft"]
    assert band.label.isprintable()
