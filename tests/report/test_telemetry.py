from __future__ import annotations

import re
from pathlib import Path

from tests.report import examples, hostile
from tests.report.test_html_section import read
from tests.verdicts.telemetry_windows import THERMAL, card, stranger, telemetry, watched, window
from tokgate.records import LaunchEvidence, RunEvidence
from tokgate.report import summary_md, verdict_json
from tokgate.report.telemetry import line_of, watched_launches
from tokgate.report.telemetry_strip import HEIGHT, strip_of


def run(*launches: LaunchEvidence) -> RunEvidence:
    return examples.run_evidence().model_copy(update={"launches": launches})


HOT = card(1, mhz=1410.0, celsius_max=92.0, watts_mean=330.0, reasons=THERMAL)
DISTURBED = watched(
    *(window(batch) for batch in range(4)),
    window(4, card(0), HOT, strangers=(stranger(),)),
    window(5, unknown="1.4 s without a row", strangers=None, strangers_unknown="6.0 s without an answer"),
)


def test_a_workload_is_told_with_the_worst_of_its_windows() -> None:
    (told,) = watched_launches(run(DISTURBED))
    (workload,) = told.workloads

    assert (workload.windows, workload.unknown) == (6, 1)
    assert workload.sm_mhz is not None
    assert (workload.sm_mhz.minimum, workload.sm_mhz.maximum) == (1410.0, 1980.0)
    assert workload.celsius_max == 92.0
    assert workload.reasons == {"sw_thermal_slowdown": 1}
    assert workload.strangers == (4711,)
    assert workload.host_busy == 0.25
    assert told.cpu_share == 0.01


def test_nobody_is_said_only_where_every_window_tells() -> None:
    silent = window(1, strangers=None, strangers_unknown="6.0 s without an answer")
    ((all_told,), (half_told,)) = (
        w.workloads for w in watched_launches(run(watched(window(0)), watched(window(0), silent)))
    )
    assert all_told.strangers == ()
    assert half_told.strangers is None


def test_one_line_tells_a_launch() -> None:
    (quiet,) = watched_launches(run(watched()))
    assert line_of(quiet) == (
        "SM clock 1980 to 1980 MHz, at most 61 °C, 412 W a GPU, host 25% busy, 5.1 rows/s"
    )
    (disturbed,) = watched_launches(run(DISTURBED))
    assert "SM clock 1410 to 1980 MHz, at most 92 °C" in line_of(disturbed)
    assert "held back by sw_thermal_slowdown, other processes: pid 4711, " in line_of(disturbed)
    assert "unknown in 1 of 6 windows: 1.4 s without a row" in line_of(disturbed)


def test_a_rig_without_gpus_says_nothing_of_clocks() -> None:
    bare = tuple(window(b).model_copy(update={"gpus": ()}) for b in range(2))
    told = telemetry(gpus=0, source="none", hz={"host": 5.0})
    (quiet,) = watched_launches(run(watched(*bare, told=told)))
    assert line_of(quiet) == "host 25% busy, 5.0 rows/s"


def test_a_launch_that_nobody_watched_has_no_line(tmp_path: Path) -> None:
    file = verdict_json.build(examples.run_evidence(), (), examples.rig())
    assert file.telemetry == ()
    assert "While it was measured" not in summary_md.render(file, "x")
    assert "Unknown: nobody watched the machine." in read(tmp_path)[0]


def test_the_summary_has_a_line_a_launch() -> None:
    file = verdict_json.build(run(DISTURBED), (), examples.rig())
    assert "- 01-baseline: SM clock 1410 to 1980 MHz" in summary_md.render(file, "x")


def test_the_page_has_a_table_and_a_strip(tmp_path: Path) -> None:
    text, reader = read(tmp_path, evidence=run(DISTURBED))
    assert reader.unbalanced == []
    assert "2 GPUs through nvidia-smi · 5.1 rows/s · cost 1.0 % of a core" in text
    assert "<td>sw_thermal_slowdown (1)</td><td>pid 4711</td>" in text
    assert "1410 / 1980 / 1980" in text
    strip = text.split('class="strip"')[1].split("</svg>")[0]
    assert re.findall(r'<rect class="(\w+)"', strip) == ["quiet"] * 4 + ["hit", "unknown"]
    assert "single #4: 1410 MHz, sw_thermal_slowdown, pid 4711 computed too" in strip


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    told = telemetry(problems=(hostile.MARKUP, hostile.ANSI), missing={"watts": hostile.BIDI})
    text, reader = read(tmp_path, evidence=run(watched(told=told)))
    assert reader.unbalanced == []
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert [c for c in text if not c.isprintable() and c != "\n"] == []


def test_a_strip_keeps_inside_its_frame() -> None:
    odd = watched(window(0, card(0, mhz=None)), window(1, card(0, mhz=0.0)), window(2, warmup=True))
    strip = strip_of(odd)
    assert strip is not None
    assert [bar.kind for bar in strip.bars] == ["unknown", "quiet", "quiet"]
    assert all(bar.y >= 0 and bar.y + bar.height <= HEIGHT + 0.01 for bar in strip.bars)
    assert strip.bars[2].title == "single #2 (warm-up): 1980 MHz"
