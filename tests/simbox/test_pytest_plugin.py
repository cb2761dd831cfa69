"""`--sim-scenario`: a fresh box for one run, told to the rig by its folder alone, and taken down at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simbox import environment
from simbox.box import up

pytest_plugins = ["pytester"]

RIG = """
name = "{name}"
simulated = {simulated}
[host]
environment = {environment}
"""
# What pytest's own command line has in the gate, and a test that says what it was told.
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--rig")
    parser.addoption("--rig-set", action="append", default=[])
    parser.addoption("--rejudge")
"""
TOLD = """
import json, os, pathlib

def test_told(pytestconfig, record_property):
    told = pytestconfig.option.rig_set
    state = pathlib.Path(told[-1].partition("SIMBOX_STATE=")[2]) if told else None
    box = json.loads((state / "box.json").read_text()) if state else None
    pathlib.Path("told.json").write_text(json.dumps({"set": told, "state": str(state), "box": box}))
"""


@pytest.fixture
def gate(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(environment.CHECKOUT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_told=TOLD)
    pytester.makepyprojecttoml('[tool.tokgate]\ndefault_rig = "box"\n[tool.pytest.ini_options]\n')
    rigs = pytester.mkdir("rigs")
    state = '{ SIMBOX_STATE = "somewhere" }'
    (rigs / "box.toml").write_text(RIG.format(name="box", simulated="true", environment=state))
    (rigs / "real.toml").write_text(RIG.format(name="real", simulated="false", environment=state))
    (rigs / "other.toml").write_text(RIG.format(name="other", simulated="true", environment="{}"))
    return pytester


def play(gate: pytest.Pytester, *options: str) -> pytest.RunResult:
    # The plugin comes after the others, as conftest.py of the checkout loads it; an installed tokgate has options of its own.
    return gate.runpytest_subprocess("-p", "no:tokgate", "-p", "simbox.pytest_plugin", *options)


def told(gate: pytest.Pytester) -> dict[str, object]:
    found = json.loads((gate.path / "told.json").read_text())
    assert isinstance(found, dict)
    return found


def test_without_the_option_nothing_is_put_up(gate: pytest.Pytester) -> None:
    assert play(gate).ret == 0
    assert told(gate)["set"] == []


def test_a_fresh_box_plays_it_and_is_gone_afterwards(gate: pytest.Pytester) -> None:
    assert play(gate, "--sim-scenario", "heat,drift", "--sim-scenario", "dies", "--sim-seed", "7").ret == 0
    found = told(gate)
    assert found["box"] == {"scenarios": ["heat", "drift", "dies"], "seed": 7}
    assert found["set"] == [f"host.environment.SIMBOX_STATE={found['state']}"]
    assert "heat" not in str(found["state"])
    assert not Path(str(found["state"])).exists()


def test_the_end_says_how_to_play_it_again(gate: pytest.Pytester) -> None:
    play(gate, "--sim-scenario", "heat").stdout.fnmatch_lines(
        ["simbox: *to play it again: pytest * --sim-scenario heat"]
    )
    play(gate).stdout.no_fnmatch_line("simbox: *")


def test_a_folder_that_is_named_stays_and_its_box_is_down(gate: pytest.Pytester) -> None:
    (gate.path / "mine.toml").write_text("[knobs]\npatch_ms = 2.0\n")
    assert play(gate, "--sim-scenario", "./mine.toml", "--sim-state", "kept").ret == 0
    assert told(gate)["box"] == {"scenarios": [str(gate.path / "mine.toml")], "seed": 0}
    assert (gate.path / "kept" / "venv").is_dir()
    assert not (gate.path / "kept" / "box.json").exists()


def test_what_another_box_left_in_the_folder_is_ended(gate: pytest.Pytester) -> None:
    up(gate.path / "kept", ["leftover-no-owner"])
    assert play(gate, "--sim-state", "kept").ret == 0
    assert told(gate)["box"] == {"scenarios": [], "seed": 0}
    assert list((gate.path / "kept" / "holders").glob("*.json")) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sim-scenario", "verify-nograph"], "*did you mean 'verify-no-graph'?*"),
        (["--sim-scenario", "./nowhere.toml"], "*no scenario*nowhere.toml*"),
        (["--sim-scenario", ""], "*--sim-scenario without a name*"),
        (
            ["--sim-scenario", "heat", "--sim-state", "rigs"],
            "*rigs holds something else than a simulated box*",
        ),
        (["--sim-scenario", "heat", "--rig", "real"], "*rig real: it does not use the simulated box*"),
        (["--sim-scenario", "heat", "--rig", "other"], "*rig other: it does not use the simulated box*"),
        (["--sim-scenario", "heat", "--rig", "rigs/real.toml"], "*it does not use the simulated box*"),
        (["--sim-scenario", "heat", "--rejudge", "run"], "*beside --rejudge*"),
    ],
)
def test_wrong_usage(gate: pytest.Pytester, options: list[str], said: str) -> None:
    ended = play(gate, *options)
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    ended.stderr.fnmatch_lines([said])
    assert not (gate.path / "told.json").exists()


def test_workers_share_the_box_of_their_controller(gate: pytest.Pytester) -> None:
    assert play(gate, "--sim-scenario", "heat", "-n", "2").ret == 0
    found = told(gate)
    assert len(found["set"]) == 1  # type: ignore[arg-type]
    assert found["box"] == {"scenarios": ["heat"], "seed": 0}


def test_collecting_only_puts_nothing_up(gate: pytest.Pytester) -> None:
    assert play(gate, "--sim-scenario", "heat", "--sim-state", "kept", "--collect-only").ret == 0
    assert not (gate.path / "kept").exists()
