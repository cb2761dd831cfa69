"""What the person can mend before any server starts: pytest's exit code 4, and what to write instead."""

from __future__ import annotations

import pytest

from .checkout import RIG
from .stories import Usage


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("unknown-rig", 'use "standin", the nearest name'),
        ("bad-override", "start_timeout_s"),
        ("no-run", "no run.json in it"),
        ("corrupt-baseline", f"baselines/{RIG}/0123456789ab.json"),
    ],
)
def test_wrong_usage(usage: Usage, name: str, told: str) -> None:
    code, said = usage.refused[name]
    assert code == 4, said
    assert told in said
    assert "do:" in said


def test_nothing_was_launched(usage: Usage) -> None:
    assert usage.servers == 0
    assert usage.launch_folders == 0


def test_an_empty_run_is_not_green(usage: Usage) -> None:
    run = usage.empty
    assert run.code == 5, run.said
    assert run.outcome == "invalid"
    assert "no test was selected" in run.said
    assert "pytest perf_tests -m eagle3" in run.verdict["do"]


def test_an_empty_run_is_not_the_latest(usage: Usage) -> None:
    assert not (usage.empty.folder.parent / "latest").is_symlink()
