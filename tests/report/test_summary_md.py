from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.report import example_verdicts, examples, hostile
from tests.verdicts.baselines.drafting import RIG
from tests.verdicts.test_split import run
from tokgate.records import Outcome, Verdict
from tokgate.report.conclusion import SessionEnd
from tokgate.report.figures import NONE
from tokgate.report.html_section import page
from tokgate.report.markdown import text
from tokgate.report.summary_md import LIMIT_BYTES, render
from tokgate.report.verdict_json import build


def summary(*verdicts: Verdict, simulated: bool = False, end: SessionEnd | None = None) -> str:
    evidence = examples.run_evidence(simulated=simulated)
    return render(build(evidence, verdicts, examples.rig(), end=end), "reports/x")


@pytest.mark.parametrize(
    ("foreign", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "&lt;script&gt;"),
        ("first\nsecond", "first second"),
        ("`code` *bold* _x_", "\\`code\\` \\*bold\\* \\_x\\_"),
        ("[link](http://example.invalid)", "\\[link\\](http\\://example.invalid)"),
        ("cuda graph: False at 12:30", "cuda graph: False at 12:30"),
        ("@someone #12 :tada:", "\\@&#8203;someone \\#&#8203;12 \\:tada:"),
        ("owner/name#3 and me@host", "owner/name\\#&#8203;3 and me\\@host"),
        ("www.example.invalid/x", "www\\.example.invalid/x"),
        ("\x1b[31mred\x1b[0m\x00", "red\\\\x00"),
    ],
)
def test_foreign_text_is_only_text(foreign: str, escaped: str) -> None:
    assert text(foreign) == escaped


def test_every_table_row_has_as_many_cells_as_its_head() -> None:
    rows = [line for line in summary(*example_verdicts.verdicts()).split("\n") if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(cells) == {14, 11, 10, 7, 6, 4}  # arithmetic, verdicts, arms, causes, sampling, differences


def test_nothing_foreign_is_html() -> None:
    assert not re.search(r"<(?!\s)", summary(*example_verdicts.verdicts()))


def test_outcome_reason_and_next_step_are_there() -> None:
    told = summary(*example_verdicts.six_outcomes())
    assert told.startswith("# tokgate REGRESSED: speculation loses: 60.2 tok/s")
    # The step of the terminal and of report.html: one session has one.
    assert "**Next:** judge the run folder as it was written; run nvidia-smi by hand" in told
    assert "· `2026-11-29 15:40:00 to" in told
    assert (
        "| **regressed** | speculation\\_beats\\_its\\_twin | 02-eagle3-2step | single |"
        " decode\\_tok\\_s | 60.2 tok/s |" in told
    )
    assert f"| 02-eagle3-2step | single | 60.2 | {NONE} | 30.71 | 20.95 | 1.86 | 0.682 | 15 |" in told
    assert "Raw data: `reports/x`" in told


def test_simulated_is_said() -> None:
    told = summary(*example_verdicts.six_outcomes(), simulated=True)
    assert told.startswith("# tokgate SIMULATED REGRESSED: speculation loses")
    assert "> **SIMULATED**: no number here says anything about a real machine." in told
    assert "SIMULATED" not in summary(*example_verdicts.six_outcomes())


@pytest.mark.parametrize("many", [1, 60, 600])
@pytest.mark.parametrize("foreign", hostile.HOSTILE, ids=range(len(hostile.HOSTILE)))
def test_it_never_grows_beyond_its_limit(foreign: str, many: int) -> None:
    told = summary(*[example_verdicts.hostile(foreign)] * many)
    assert len(told.encode()) <= LIMIT_BYTES
    assert told.rstrip().endswith("Raw data: `reports/x`")
    if many == 600:
        assert re.search(r"… \d+ more lines did not fit: see verdict.json", told)


def test_failures_without_a_verdict_are_listed() -> None:
    assert "- a::b" in summary(
        *example_verdicts.six_outcomes(), end=SessionEnd(status=1, unclassified=("a::b",))
    )


def test_many_kept_promises_of_one_check_are_one_row_and_phases_stand_beside_the_arithmetic() -> None:
    steady = [Verdict(check="steadiness", outcome=Outcome.PASS, headline="steady") for _ in range(8)]
    told = summary(*steady, *example_verdicts.six_outcomes())
    assert told.count("steadiness") == 3  # the folded row; the inconclusive one, there and among the reasons
    assert "| pass | steadiness 8 of 9 |" in told


def test_phases_stand_beside_the_arithmetic() -> None:
    now = run(1.08)
    file = build(now, example_verdicts.six_outcomes(), RIG)
    told = render(file, "reports/x")
    places = [told.index(t) for t in ("Arithmetic", "Phases of a cycle", "Gain by concurrency", "Verdicts")]
    assert places == sorted(places)
    shown = page(file, now, Path("/nowhere"))
    places = [shown.index(f"<h3>{t}") for t in ("Arithmetic", "Phases of a cycle", "Gain by concurrency")]
    assert places == sorted(places)
