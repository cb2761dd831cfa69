from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.report import example_verdicts, examples, hostile
from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.report.html_environment import shown, size
from tokgate.report.html_section import page, section, title
from tokgate.report.verdict_json import build

OURS = {"html", "head", "meta", "link", "title", "body", "style", "section", "header", "p", "h1", "h2"} | {
    *("strong", "em", "span", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "a"),
    *("details", "summary", "div", "figure", "figcaption", "svg", "g", "text", "line", "rect", "circle"),
    *(
        "main",
        "nav",
        "h3",
        "caption",
        "button",
        "fieldset",
        "legend",
        "label",
        "select",
        "option",
        "script",
        "wbr",
    ),
}
VOID = {"meta", "link", "wbr"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and that every tag is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.unbalanced: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(
    folder: Path,
    verdicts: tuple[Verdict, ...] = example_verdicts.verdicts(),
    evidence: RunEvidence | None = None,
    *,
    simulated: bool = False,
) -> tuple[str, Reader]:
    evidence = evidence or examples.run_evidence(simulated=simulated)
    text = page(build(evidence, verdicts, examples.rig(simulated=simulated)), evidence, folder)
    reader = Reader()
    reader.feed(text)
    return text, reader


def test_hostile_text_adds_no_tag_attribute_or_invisible_character(tmp_path: Path) -> None:
    text, reader = read(tmp_path)
    assert set(reader.tags) <= OURS
    assert reader.unbalanced == []
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    harmless, _ = read(tmp_path, example_verdicts.six_outcomes())
    assert text.count("<script") == harmless.count("<script")
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    text.encode()


def test_nothing_is_loaded_from_anywhere(tmp_path: Path) -> None:
    text, reader = read(tmp_path, example_verdicts.six_outcomes())
    loaders = [(n, v) for n, v in reader.attributes if n in ("src", "href", "action", "srcset", "poster")]
    assert {v for n, v in loaders if n == "href" and not (v or "").startswith("#")} == {"data:,"}
    assert {n for n, _ in loaders} == {"href"}
    assert "url(" not in text
    assert "@import" not in text


def test_the_answer_stands_first_then_verdicts_charts_and_what_they_rest_on(tmp_path: Path) -> None:
    text, _ = read(tmp_path, example_verdicts.six_outcomes())
    assert "<title>REGRESSED: speculation loses: 60.2 tok/s" in text
    headings = [html.unescape(h) for h in re.findall(r"<h2[^>]*>(.*?)</h2>", text)]
    assert headings == [
        "Why: likely causes",
        "What to do next",
        "Verdicts",
        "Charts",
        "Numbers",
        "Environment truth",
        "Clean slate",
        "While it was measured",
        "Fingerprint",
        "Command lines: server runs",
        "Raw files",
    ]
    assert text.index('<span class="word regressed">') < text.index("<h1") < text.index("<h2")


def test_every_entry_of_the_contents_is_a_part_of_the_page(tmp_path: Path) -> None:
    _, reader = read(tmp_path, example_verdicts.six_outcomes())
    places = {value for name, value in reader.attributes if name == "id"}
    inside = {value for name, value in reader.attributes if name == "href" and (value or "").startswith("#")}
    assert len(inside) >= 10
    assert {f"#{place}" for place in places} >= inside


def test_scripts_run_by_the_pages_own_leave_alone(tmp_path: Path) -> None:
    text, reader = read(tmp_path)
    policy = next(v for n, v in reader.attributes if n == "content" and v and "script-src" in v)
    nonce = re.search(r"script-src 'nonce-([\w-]{20,})'", policy)
    assert nonce is not None
    assert "default-src 'none'" in policy
    for script in re.findall(r"<script([^>]*)>", text):
        assert f'nonce="{nonce[1]}"' in script or 'type="application/json"' in script
    assert read(tmp_path)[0].count(nonce[1]) == 0  # another page has another one


def test_the_verdict_table_shows_every_column(tmp_path: Path) -> None:
    text, _ = read(tmp_path, example_verdicts.six_outcomes()[2:3])
    table = text.split('<table class="verdicts">')[1]
    heads = re.findall(r'<th scope="col"[^>]*>([^<]+)', table.split("</thead>")[0])
    cells = [
        " ".join(re.sub(r"<[^>]+>", " ", cell.replace("<wbr>", "")).split())
        for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", table.split("<tbody", 1)[1].split("</tr>", 1)[0])
    ]
    assert dict(zip(heads, cells, strict=True)) == {
        "outcome": "regressed",
        "promise": "speculation_beats_its_twin decode_tok_s",
        "where": "02-eagle3-2step single",
        "value": "60.2 tok/s",
        "reference": "88.5",
        "change": "-32.0 %",
        "interval": "-32.6 % … -31.4 %",
        "floor": "3.0% and 0.5 tok/s, both exceeded",
        "n": "15",
        "source": "meta_info.decode_throughput",
    }


def test_there_is_a_chart_per_metric_with_units_and_tooltips(tmp_path: Path) -> None:
    text, _ = read(tmp_path, example_verdicts.six_outcomes())
    drawings = re.findall(r'<svg [^>]*aria-label="([^"]+)"', text)
    assert "decode, tok/s, higher is better" in drawings
    assert "cycle per verify call, ms, lower is better" in drawings
    assert len(drawings) == 8
    assert "<title>02-eagle3-2step, single #3: " in text


def test_the_matrix_tells_state_and_process(tmp_path: Path) -> None:
    text, _ = read(tmp_path, example_verdicts.six_outcomes())
    assert "<li>NCCL_PROTO in scheduler TP0 (pid 4101): erased, wanted LL</li>" in text
    assert "and 32 more: launches/02-eagle3-2step/environment.json" in text
    assert text.count('class="cell erased"') == 56


def test_simulated_is_said_first(tmp_path: Path) -> None:
    text, _ = read(tmp_path, example_verdicts.six_outcomes(), simulated=True)
    assert "<title>SIMULATED REGRESSED: " in text
    assert text.index('class="banner"') < text.index("<h1")
    assert 'class="banner"' not in read(tmp_path, example_verdicts.six_outcomes())[0]


def test_unknown_is_written_as_unknown(tmp_path: Path) -> None:
    nothing = examples.run_evidence().model_copy(
        update={"launches": (), "fingerprint": None, "slate_at_start": None, "slate_at_end": None}
    )
    text, reader = read(tmp_path, (), nothing)
    assert reader.unbalanced == []
    for words in (
        "Nothing was judged.",
        "Unknown: nobody read the environment of a server's processes.",
        "Unknown: nobody looked.",
        "No server was launched.",
    ):
        assert words in html.unescape(text)


def test_raw_files_are_linked_relative_to_the_page(tmp_path: Path) -> None:
    (tmp_path / "odd name %&.log").write_text("x", encoding="utf-8")
    text, _ = read(tmp_path, ())
    assert '<a href="odd%20name%20%25%26.log">odd name %&amp;.log</a>' in text


def test_the_section_brings_the_style_of_the_page_around_it(tmp_path: Path) -> None:
    evidence = examples.run_evidence()
    file = build(evidence, example_verdicts.six_outcomes(), examples.rig())
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    text = section(file, evidence, tmp_path, link_base="file:///elsewhere/")
    assert text.lstrip().startswith("<style>")
    assert "#tests .scroll" in text
    assert 'href="file:///elsewhere/run.json"' in text


def test_the_title_is_plain_text_of_bounded_length() -> None:
    file = build(examples.run_evidence(), (example_verdicts.hostile(hostile.WORDY),), examples.rig())
    assert len(title(file)) <= 300


def test_what_is_too_long_is_cut_and_counted() -> None:
    assert shown("x" * 5000) == "x" * 4000 + "… (1000 more characters)"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB")])
def test_sizes(count: int, text: str) -> None:
    assert size(int(count)) == text


def test_repeated_passes_of_one_check_are_folded_and_speed_ups_are_not(tmp_path: Path) -> None:
    six = example_verdicts.six_outcomes()
    won = six[2].model_copy(update={"outcome": Outcome.PASS, "change": 0.05})
    text, reader = read(tmp_path, (*[six[0]] * 5, *[won] * 4))
    assert text.count('<details class="group">') == 1
    assert reader.unbalanced == []
    assert "time_to_first_token</strong> 5 of 5" in text
    assert text.count(six[0].headline) == 5
    assert "9 verdicts: 9 pass" in text
