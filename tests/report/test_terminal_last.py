"""The last words on a screen: how it ended, why, and the command to type next."""

from __future__ import annotations

import pytest

from tests.report import example_verdicts, examples
from tokgate.records import Outcome, Verdict
from tokgate.report.conclusion import PartJudged, SessionEnd, SessionOutcome
from tokgate.report.run_named import with_run
from tokgate.report.terminal_last import last_words
from tokgate.report.verdict_json import build

FOLDER = "reports/20261129T154000-kimi-8gpu"
SIX = example_verdicts.six_outcomes()


def words(
    *verdicts: Verdict, end: SessionEnd | None = None, simulated: bool = False, given: str = ""
) -> list[str]:
    evidence = examples.run_evidence(simulated=simulated)
    # Without its launches: what the evidence proves by itself has a next step of its own.
    evidence = evidence.model_copy(update={"launches": (), "slate_at_start": None, "slate_at_end": None})
    file = build(evidence, verdicts, examples.rig(simulated=simulated), end=end)
    return last_words(file, FOLDER, page=f"{FOLDER}/report.html", colour=False, given=given)


def test_a_regression_ends_with_its_reason_and_a_command_that_can_be_pasted() -> None:
    assert words(*SIX) == [
        "tokgate  REGRESSED, exit code 13: slower than allowed, established",
        "  speculation_beats_its_twin decode_tok_s 02-eagle3-2step/single",
        "  speculation loses: 60.2 tok/s where the control arm makes 88.5 (-32.0 %)",
        "next: look for 'cuda graph: False' on decode lines: grep 'Decode batch' …",
        f"grep 'Decode batch' {FOLDER}/launches/02-eagle3-2step/server.log",
    ]


def test_a_path_that_no_line_has_room_for_is_not_broken_and_a_command_stands_by_itself() -> None:
    folder = "/mnt/scratch/nightly/tokgate/reports/20261130T140342-h200-quick-planted-server-killed"
    log = f"{folder}/launches/02-eagle3-2step/server.log"
    evidence = examples.run_evidence().model_copy(
        update={"launches": (), "slate_at_start": None, "slate_at_end": None}
    )
    file = build(evidence, SIX[2:3], examples.rig())
    told = last_words(file, folder, page="p", colour=False)
    assert told[-1] == f"grep 'Decode batch' {log}"


def test_a_command_with_a_gap_is_marked_so_that_nobody_runs_it_as_it_is() -> None:
    step = f"compare it: tokgate compare /srv/reports/GOOD_RUN /srv/{'long/' * 12}reports/20261130T152427-box"
    told = words(SIX[2].model_copy(update={"do": step}))
    assert told[-1].startswith("fill in GOOD_RUN, then: tokgate compare /srv/reports/GOOD_RUN ")


def test_a_part_judged_again_says_so_and_how_the_run_ended() -> None:
    part = PartJudged(selection="perf_tests/test_lossless.py", run_outcome=SessionOutcome.REGRESSED)
    assert words(SIX[0], end=SessionEnd(part=part))[:3] == [
        "tokgate  pass, exit code 0: every promise that was asked for holds",
        "  a part of a stored run, judged again (perf_tests/test_lossless.py); the run",
        "  itself ended regressed",
    ]


def test_a_pass_ends_with_where_to_read_on() -> None:
    assert words(SIX[0]) == [
        "tokgate  pass, exit code 0: every promise holds",
        f"see:  {FOLDER}/report.html",
    ]


def test_a_simulated_rig_says_so_in_the_last_line_that_tells_an_outcome() -> None:
    assert words(SIX[0], simulated=True)[0] == "tokgate  SIMULATED pass, exit code 0: every promise holds"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (SIX[1], "improved, exit code 0: every promise holds, and something is faster"),
        (SIX[3], "inconclusive, exit code 10: this run could not see enough to say"),
        (SIX[4], "INVALID, exit code 11: the bench, not the code, is at fault"),
        (SIX[5], "no-baseline, exit code 12: nothing is stored to compare with"),
    ],
    ids=lambda value: value.outcome.value if isinstance(value, Verdict) else "",
)
def test_every_outcome_has_its_exit_code_in_words(verdict: Verdict, said: str) -> None:
    lines = words(verdict)
    assert lines[0] == f"tokgate  {said}"
    assert verdict.outcome is Outcome.IMPROVED or any(line.startswith("next: ") for line in lines)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (1, "ERROR, exit code 1: a test failed for a reason that no verdict explains"),
        (2, "INTERRUPTED, exit code 2: stopped before its end"),
        (3, "ERROR, exit code 3: pytest met an internal error"),
        (5, "INVALID, exit code 5: no test was selected"),
    ],
)
def test_so_have_pytests_own(status: int, said: str) -> None:
    lines = words(end=SessionEnd(status=status, unclassified=("t.py::test_x",) if status == 1 else ()))
    assert lines[0] == f"tokgate  {said}"
    assert any(line.startswith("next: ") for line in lines)


def test_the_command_that_measures_again_has_the_options_that_no_record_keeps() -> None:
    file = build(examples.run_evidence(), SIX, examples.rig())
    told = last_words(file, "r", page="r/report.html", colour=False, given="--sim-scenario heat")
    assert told[-1] == "pytest perf_tests -m eagle3 --sim-scenario heat --rig kimi-8gpu"
    assert "sim-scenario" not in file.model_dump_json()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('tokgate baseline update RUN --why "…"', "tokgate baseline update 'a b/r' --why \"…\""),
        ("then tokgate report RUN", "then tokgate report 'a b/r'"),
        ("tokgate baseline update RUN RUN … --why x", "tokgate baseline update RUN RUN … --why x"),
        ("RUN it again", "RUN it again"),
        ("see launches/01-baseline/server.log", "see 'a b/r'/launches/01-baseline/server.log"),
        ("see other/launches/01-baseline/server.log", "see other/launches/01-baseline/server.log"),
    ],
)
def test_a_step_names_the_run_it_is_about(text: str, named: str) -> None:
    assert with_run(text, "a b/r") == named
