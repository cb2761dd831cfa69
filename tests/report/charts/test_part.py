from __future__ import annotations

import json
import re
from pathlib import Path

from tests.report import examples, hostile
from tests.report.test_arms import series
from tokgate.report.charts.drawing import Axis, Figure, Panel, Trace, View, axis_of, lean
from tokgate.report.charts.part import ChartsPart, charts_part, embedded
from tokgate.report.html_section import page
from tokgate.report.series import Series
from tokgate.report.verdict_json import build

# Of a page that may have two megabytes, all its charts, whatever the run was.
MOST_BYTES = 900_000
# And of one like those of a gate: six figures, three launches, hundreds of generations.
MOST_USUAL = 250_000


def part(folder: Path, shown: tuple[Series, ...] | None = None) -> ChartsPart:
    evidence = examples.run_evidence()
    file = build(evidence, (), examples.rig())
    return charts_part(file if shown is None else file.model_copy(update={"series": shown}), evidence, folder)


def of_page(text: str) -> str:
    begin = text.index('<section id="charts"')
    return text[begin : text.index("</script>", text.index("uPlot=", begin))]


def test_no_text_can_end_the_data_or_be_read_as_markup() -> None:
    for text in (*hostile.HOSTILE, "</script><script>alert(1)</script>", "<!--", "]]>", "\u2028\u2029"):
        trace = Trace(label=text, tone="arm", draw="points", y=(1.0,), facts={text: (text,)})
        view = View(
            chosen=(text,),
            panels=(Panel(title=text, x=Axis(label=text), y=Axis(label=text), traces=(trace,)),),
            says=text,
        )
        data = str(embedded([Figure(id="x", title=text, says=(text,), views=(view,))]))
        assert not re.search(r"[<>&\u2028\u2029]|[^ -~]", data)
        told = json.loads(data)[0]["views"][0]["panels"][0]["traces"][0]
        assert told["label"] == text
        assert told["facts"] == {text: [text]}


def test_a_hostile_run_leaves_no_mark_of_its_own(tmp_path: Path) -> None:
    one = series(f"01-{hostile.MARKUP}", "arm", "decode_tok_s", 1.0, 2.0).model_copy(
        update={"workload": f"</script>{hostile.BIDI}", "unit": hostile.MARKUP}
    )
    data = str(part(tmp_path, (one,)).data)
    assert "<" not in data
    assert "\\\\u202e" in data  # made visible, not only escaped


def test_defaults_cost_no_bytes_and_numbers_only_what_can_be_seen() -> None:
    view = View(chosen=("a",), panels=(), says="")
    told = json.loads(str(embedded([Figure(id="x", title="t", says=("s",), views=(view,))])))
    assert told == [{"id": "x", "title": "t", "views": [{"chosen": ["a"], "panels": [], "says": ""}]}]
    assert repr(lean(88.8888888888)) == "88.8889"
    assert repr(lean(12.0)) == "12"
    assert axis_of("decode_tok_s", "tok/s").label == "decode, higher is better"


def test_every_chart_says_its_conclusion_in_words_and_has_numbers(tmp_path: Path) -> None:
    evidence = examples.run_evidence()
    text = page(build(evidence, (), examples.rig()), evidence, tmp_path)
    for figure in part(tmp_path).figures:
        place = text.index(f'id="chart-{figure.id}"')
        assert text.index('<p class="says">', place) < text.index("</figcaption>", place)
        assert figure.says
        assert not figure.views or figure.rows or figure.id == "generations"
    assert text.index('id="verdicts"') < text.index('id="charts"') < text.index('id="numbers"')


def test_scripts_carry_the_nonce_of_the_page_and_data_is_no_script(tmp_path: Path) -> None:
    evidence = examples.run_evidence()
    text = page(build(evidence, (), examples.rig()), evidence, tmp_path)
    kinds = re.findall(r"<script ([^>]*)>", text)
    assert [k for k in kinds if "nonce=" not in k] == ['type="application/json" id="tokgate-charts"']


def test_our_script_evaluates_nothing_fetches_nothing_and_writes_text_only(tmp_path: Path) -> None:
    script = str(part(tmp_path).script)
    assert not re.search(
        r"\beval\b|Function\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write|fetch\(|XMLHttp|</",
        script,
    )


def test_a_usual_page_spends_little_on_charts(tmp_path: Path) -> None:
    evidence = examples.run_evidence()
    text = page(build(evidence, (), examples.rig()), evidence, tmp_path)
    assert len(of_page(text).encode()) < MOST_USUAL


def test_a_huge_run_stays_within_its_bytes(tmp_path: Path) -> None:
    """Forty launches, six metrics, three workloads: 144 000 values."""
    values = [80 + (i * 7919 % 1000) / 100 for i in range(200)]
    one = series("01-x", "arm", "decode_tok_s", *values)
    shown = tuple(
        one.model_copy(update={"launch": f"{launch:02}-eagle3-2step", "metric": metric, "workload": workload})
        for launch in range(40)
        for metric in ("decode_tok_s", "total_tok_s", "cycle_ms", "accept_length", "ttft_ms", "tpot_ms")
        for workload in ("single", "conc8", "conc32")
    )
    evidence = examples.run_evidence()
    file = build(evidence, (), examples.rig()).model_copy(update={"series": shown})
    text = page(file, evidence, tmp_path)
    assert "of 48000 values are drawn" in text
    assert "room for 300 series of 720: cycle_ms, accept_length, ttft_ms, tpot_ms" in text
    assert len(of_page(text).encode()) < MOST_BYTES


def test_a_run_of_nothing_needs_no_script(tmp_path: Path) -> None:
    nothing = examples.run_evidence().model_copy(update={"launches": ()})
    file = build(nothing, (), examples.rig())
    told = charts_part(file, nothing, tmp_path)
    assert not told.drawn
    assert all(f.says for f in told.figures)
    assert "uPlot" not in page(file, nothing, tmp_path)
