"""The box is put up once, whoever asks first, and one who finds it up changes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from simbox import box, ledger
from simbox.box import StateError, down, held, next_start, up


def test_who_finds_it_up_changes_nothing(tmp_path: Path) -> None:
    up(tmp_path, ["patched-tree"], seed=3)
    pid = os.getpid()
    ledger.claim(tmp_path, ledger.Holder(3, pid, ledger.start_ticks(pid), 1000, "python3", 0.2))
    made = (tmp_path / "venv").stat().st_ino
    again = up(tmp_path)
    assert (again.scenario.names, again.scenario.seed) == (("patched-tree",), 3)
    assert [held.mib for held in ledger.held(tmp_path)] == [1000]
    assert (tmp_path / "venv").stat().st_ino == made


def test_a_scenario_may_follow_while_none_is_played(tmp_path: Path) -> None:
    up(tmp_path)
    assert up(tmp_path, ["heat"]).scenario.names == ("heat",)
    assert up(tmp_path).scenario.names == ("heat",)
    # For one server alone: the box goes on playing what it was put up with.
    assert up(tmp_path, ["drift"]).scenario.names == ("drift",)
    assert up(tmp_path).scenario.names == ("heat",)


def test_a_scenario_by_path_is_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[knobs]\npatch_ms = 2.0\n")
    up(tmp_path / "box", [str(tmp_path / "mine.toml")])
    assert json.loads((tmp_path / "box" / "box.json").read_text())["scenarios"] == [
        str(tmp_path / "mine.toml")
    ]


def test_starts_count_on_and_old_truth_files_go(tmp_path: Path) -> None:
    up(tmp_path)
    for number in range(1, box.RUNS_KEPT + 4):
        (tmp_path / "runs" / f"{number:04d}-1").mkdir(parents=True)
    assert next_start(tmp_path) == 1
    down(tmp_path)
    assert next_start(tmp_path) == 2
    kept = sorted(folder.name for folder in (tmp_path / "runs").iterdir())
    assert (len(kept), kept[0]) == (box.RUNS_KEPT, "0004-1")


def test_a_folder_that_holds_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    for folder in ("holders", "venv"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine").write_text("precious")
    for change in (up, down):
        with pytest.raises(StateError, match="holds something else than a simulated box"):
            change(tmp_path)
    assert {f.read_text() for f in tmp_path.rglob("mine")} == {"precious"}
    with pytest.raises(StateError, match="cannot hold a simulated box"):
        up(tmp_path / "venv" / "mine")


def test_a_box_is_one_sessions(tmp_path: Path) -> None:
    with held(tmp_path), pytest.raises(StateError, match="in use by another session"), held(tmp_path):
        pass
    with held(tmp_path):
        up(tmp_path)
