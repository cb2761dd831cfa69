from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.verdicts.baselines.test_history import LOWER, series
from tokgate.cli.errors import GateGroup
from tokgate.cli.history import history
from tokgate.session.history_file import append, history_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for entry in series(LOWER):
        append(history_path(tmp_path / "reports", "small"), entry)
    return tmp_path


def told(root: Path, *words: str) -> Result:
    return CliRunner().invoke(GateGroup(commands={"history": history}), ["history", *words], obj=root)


def test_each_session_is_a_line_and_a_change_of_level_is_marked(root: Path) -> None:
    found = told(root, "small")

    assert found.exit_code == 0, found.output
    assert "decode_tok_s of single on baseline, identity abc, 10 sessions" in found.output
    lines = found.output.splitlines()
    (changed,) = [line for line in lines if "<- -5.0%" in line]
    assert changed.split()[:2] == ["r07", "84.7"]
    assert "decode has stood 5.0 % lower since run r07 of 2026-11-07" in lines[-1]
    assert "SIMULATED" not in found.output


def test_change_points_are_of_all_sessions_whatever_is_printed(root: Path) -> None:
    found = told(root, "small", "--last", "2", "--metric", "decode_tok_s")

    assert "r08" not in found.output
    assert "and 8 earlier: --last 10" in found.output
    assert "since run r07" in found.output


@pytest.mark.parametrize("last", ["0", "-5"])
def test_less_than_one_session_is_refused(root: Path, last: str) -> None:
    result = told(root, "small", "--last", last)
    assert result.exit_code == 4
    assert "x>=1" in result.stderr


def test_damaged_lines_are_named_and_skipped(root: Path) -> None:
    with history_path(root / "reports", "small").open("a") as file:
        file.write("{\x1b[2J\n")
    found = told(root, "small")

    assert found.exit_code == 0
    assert "small.jsonl, line 11: " in found.stderr
    assert "\x1b" not in found.stderr


@pytest.mark.parametrize(
    ("words", "told_of"),
    [
        (["other"], "no session of it in"),
        (["small", "--metric", "speed"], "there is no such metric"),
        (["../small"], "no name of a rig"),
        (["small", "--file", "/"], "Is a directory|regular file"),
    ],
)
def test_what_cannot_be_shown_says_why(root: Path, words: list[str], told_of: str) -> None:
    found = told(root, *words)

    assert found.exit_code == 4
    assert any(part in found.stderr for part in told_of.split("|"))


def test_what_is_asked_for_and_not_there_is_said(root: Path) -> None:
    assert "nothing of that arm" in told(root, "small", "--arm", "eagle3").output
    assert "nothing of that arm" in told(root, "small", "--metric", "cycle_ms").output
