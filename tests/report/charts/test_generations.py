from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

from tests.report.examples import rig, run_evidence
from tests.report.hostile import MARKUP
from tests.report.test_arms import series
from tokgate.records import Outcome, Reference, Verdict
from tokgate.report.arms import starts_of
from tokgate.report.charts.drawing import Panel, View
from tokgate.report.charts.generations import MOST_POINTS, generations
from tokgate.report.charts.part import charts_part
from tokgate.report.verdict_file import VerdictFile
from tokgate.report.verdict_json import build


def file(*verdicts: Verdict) -> VerdictFile:
    return build(run_evidence(), verdicts, rig())


def view(told: VerdictFile, metric: str, workload: str = "single") -> View:
    return next(
        v for v in generations(told).views if v.chosen[0].startswith(metric) and v.chosen[1] == workload
    )


def panel(told: VerdictFile, metric: str = "decode (", workload: str = "single") -> Panel:
    return view(told, metric, workload).panels[0]


def test_every_good_generation_of_every_launch_is_drawn_in_the_order_of_launches() -> None:
    drawn = panel(file())
    assert [t.label for t in drawn.traces] == [
        "01-baseline (control before)",
        "02-eagle3-2step (arm)",
        "04-baseline-again (control after)",
    ]
    assert [len(t.y) for t in drawn.traces] == [15, 15, 15]
    begins = [t.x0 for t in drawn.traces]
    assert all(b >= a + 15 for a, b in pairwise(begins))
    assert {t.number for t in drawn.traces} == {"generation"}
    assert len({t.mark for t in drawn.traces}) == 3


def test_the_controls_of_the_bracket_are_lines_over_the_whole_picture() -> None:
    across = [line for line in panel(file()).lines if line.way == "y" and line.first is None]
    assert [line.label.partition(":")[0] for line in across] == ["control before", "control after"]
    assert across[0].dash != across[1].dash
    assert all(abs(line.at - 88.5) < 1 for line in across)


def test_a_stored_baseline_stands_at_the_launches_that_were_compared_with_it() -> None:
    stored = Verdict(
        check="stored_baseline", outcome=Outcome.REGRESSED, headline="x", arm="eagle3-2step", workload="single",
        launch="02-eagle3-2step", metric="decode_tok_s", value=60.2,
        reference=Reference(kind="baseline", label="baselines/kimi/1f.json", value=94.0),
    )  # fmt: skip
    told = panel(file(stored))
    (line,) = [line for line in told.lines if "stored" in line.label]
    arm = told.traces[1]
    assert (line.at, line.label) == (94.0, "stored baseline of eagle3-2step: 94.0 tok/s")
    assert line.first is not None
    assert line.last is not None
    assert line.first < arm.x0 < arm.x0 + 14 < line.last
    assert not [line for line in panel(file(stored), "decode (", "conc4").lines if "stored" in line.label]


def test_numbers_of_all_streams_together_count_barrier_starts() -> None:
    told = panel(file(), "total", "conc4")
    assert {t.number for t in told.traces} == {"barrier start"}
    assert [len(t.y) for t in told.traces] == [4, 4, 4]


def test_what_the_picture_says_is_said_in_words() -> None:
    says = view(file(), "decode (").says
    assert says.startswith("single: decode eagle3-2step 60.")
    assert "control baseline 88." in says
    assert says.endswith("tok/s.")


def test_a_hundred_thousand_generations_are_thinned_and_it_says_so() -> None:
    dice = random.Random(1)
    values = [dice.gauss(88, 1) for _ in range(100_000)]
    values[12_345] = 3.0
    one = series("01-baseline", "control", "decode_tok_s", *values)
    told = generations(file().model_copy(update={"series": (one,)}))
    trace = told.views[0].panels[0].traces[0]

    assert len(trace.y) <= MOST_POINTS + 2
    assert trace.y[trace.numbers.index(12_345)] == 3.0
    assert f"{len(trace.y)} of 100000 values are drawn" in told.notes[1]
    assert f"n=100000, {len(trace.y)} drawn" in trace.note


def test_a_run_without_a_number_says_so() -> None:
    nothing = generations(file().model_copy(update={"series": ()}))
    assert nothing.views == ()
    assert "No generation was measured" in nothing.says[0]


def test_an_odd_name_of_a_launch_is_one_visible_line() -> None:
    one = series(f"01-{MARKUP}\n\x1b[31m\u202e", "arm", "decode_tok_s", 1.0, 2.0)
    (trace,) = generations(file().model_copy(update={"series": (one,)})).views[0].panels[0].traces
    assert trace.label.isprintable()
    assert "\\u202e" in trace.label


def test_medians_are_those_of_verdicts_and_of_what_is_stored() -> None:
    stored = Verdict(
        check="stored_baseline", outcome=Outcome.PASS, headline="x", arm="eagle3-2step", workload="single",
        launch="02-eagle3-2step", metric="decode_tok_s", value=93.0,
        reference=Reference(kind="baseline", label="baselines/kimi/1f.json", value=94.0),
    )  # fmt: skip
    by_start = {("02-eagle3-2step", "single", "decode_tok_s"): (92.0, 93.0, 94.0)}
    (told,) = [
        v
        for v in generations(file(stored), by_start).views
        if v.chosen[0].startswith("decode (") and v.chosen[1] == "single"
    ]
    assert "eagle3-2step 93.0 (n=15)" in told.says
    assert "stored eagle3-2step 94.0 tok/s" in told.says
    assert "median 93.0 tok/s, n=15" in told.panels[0].traces[1].note
    assert 93.0 in [line.at for line in told.panels[0].lines if line.quiet]


def test_a_page_draws_them_so() -> None:
    evidence = run_evidence()
    part = charts_part(file(), evidence, Path("/nowhere"))
    assert part.figures[0] == generations(file(), starts_of(evidence))
    # Without a script the strips say the same: 4 barrier starts of 4 streams each.
    rows = {
        (panel.workload, row.label): row.note
        for chart in part.strips
        if chart.metric == "decode_tok_s"
        for panel in chart.panels
        for row in panel.rows
    }
    of_arms = {(a.workload, a.launch): a for a in file().arms if a.decode_tok_s is not None}
    assert of_arms.keys() == rows.keys()
    assert all(f"{a.decode_tok_s:.1f} tok/s  n={a.n}" in rows[place] for place, a in of_arms.items())
    assert any(
        row.n != len(s.known)
        for row in of_arms.values()
        for s in file().series
        if (s.launch, s.workload, s.metric) == (row.launch, row.workload, "decode_tok_s")
    )
