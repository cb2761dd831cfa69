"""What a call would do is told at home, with the arguments of run.sh, and nothing is done."""

from __future__ import annotations

import sys
from pathlib import Path

import foretell
import pytest
from campaign import REFUSED_S, seconds_a_start

from tokgate.rig.load import load_rig

ROOT = Path(__file__).parents[2]


def told(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["foretell.py", *words])
    foretell.main()
    return capsys.readouterr().out.splitlines()


def test_steps_are_told_with_their_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(["--rig", "h200-quick", "--time-limit", "200", "visit"], monkeypatch, capsys)
    a_visit = 2 * seconds_a_start(load_rig("h200-quick", root=ROOT))
    assert f"{a_visit:6.0f} s" in lines[0]
    assert "not in this call" not in lines[0]
    assert "not in this call" in lines[1]
    assert not (ROOT / ".gpu-host-none").exists()


def test_a_session_that_starts_nothing_is_short(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line, *_) = told(["--rig", "h200-quick", "planted", "leftover"], monkeypatch, capsys)
    assert f"0 starts {REFUSED_S:6.0f} s" in line


def test_several_gpus_take_longer_to_join() -> None:
    one, two = (load_rig(name, root=ROOT) for name in ("h200-quick", "h200x2"))
    assert seconds_a_start(two) > seconds_a_start(one)
