"""The arguments of run.sh."""

from __future__ import annotations

from pathlib import Path

import arguments
import pytest


def test_what_stands_behind_two_dashes_is_for_pytest() -> None:
    asked = arguments.read(["--rig", "h200", "aa", "3", "--time-limit", "580", "--", "-k", "single"])
    assert (asked.job, asked.words, asked.more) == ("aa", ("3",), ("-k", "single"))
    assert asked.time_limit == 580


def test_a_rig_may_be_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert arguments.read(["--rig", "mine.toml"]).rig == str(tmp_path / "mine.toml")


def test_the_folder_for_results_is_the_callers_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    assert arguments.read([]).out == tmp_path / "out"
    assert arguments.read(["--out", str(tmp_path / "other")]).out == tmp_path / "other"


def test_the_plan_is_made_for_the_rig_with_its_overrides() -> None:
    asked = arguments.read(["gate", "--", "--rig-set", "gpus.count=2", "-x", "--rig-set=name=h"])
    assert asked.overrides == ["gpus.count=2", "name=h"]
    assert arguments.read(["gate"]).overrides == []


def test_another_job_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments.read(["gates"])
    assert "gates" in capsys.readouterr().err
