"""Options that no evidence names: kept beside it for commands to paste, and taken back as options and values alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report import examples
from tokgate.report.given import FILE, keep, kept, with_given
from tokgate.report.html_section import page
from tokgate.report.verdict_json import build


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("then pytest perf_tests -m eagle3.", "then pytest perf_tests -m eagle3 --sim-seed 7."),
        ("pytest perf_tests -m 'eagle3 or nccl' --rig a", "pytest perf_tests -m 'eagle3 or nccl' --sim-seed 7 --rig a"),
        ("pytest --pyargs tokgate.perf_tests -m eagle3", "pytest --pyargs tokgate.perf_tests -m eagle3 --sim-seed 7"),
        ("pytest perf_tests/test_lossless.py --rig a", "pytest perf_tests/test_lossless.py --sim-seed 7 --rig a"),
        ("pytest perf_tests -m eagle3 --sim-seed 7", "pytest perf_tests -m eagle3 --sim-seed 7"),
        ("tokgate report RUN", "tokgate report RUN"),
    ],
)  # fmt: skip
def test_they_stand_in_every_command_that_measures(step: str, told: str) -> None:
    assert with_given(step, "--sim-seed 7") == told
    assert with_given(step, "") == step


def test_what_a_run_kept_is_quoted_anew(tmp_path: Path) -> None:
    assert kept(tmp_path) == ""
    keep(tmp_path, "--sim-scenario 'a b' --sim-seed=7")
    assert kept(tmp_path) == "--sim-scenario 'a b' --sim-seed=7"


@pytest.mark.parametrize(
    "foreign", ["; id", "--sim-seed", "x --sim-seed 1", "--sim-scenario 'a", "--a \x1b[2J"]
)
def test_what_is_no_option_with_its_value_is_not_taken(tmp_path: Path, foreign: str) -> None:
    (tmp_path / FILE).write_text(foreign)
    assert kept(tmp_path) == ""
    (tmp_path / FILE).write_text("--sim-scenario $(id)")
    assert kept(tmp_path) == "--sim-scenario '$(id)'"


def test_the_page_has_the_command_of_the_run_with_them(tmp_path: Path) -> None:
    evidence = examples.run_evidence(simulated=True)
    info = evidence.info.model_copy(update={"command": "pytest perf_tests -m eagle3 --rig sim"})
    evidence = evidence.model_copy(update={"info": info})
    keep(tmp_path, "--sim-scenario incident")
    text = page(build(evidence, (), examples.rig(simulated=True)), evidence, tmp_path)
    assert "pytest perf_tests -m eagle3 --sim-scenario incident --rig sim" in text
