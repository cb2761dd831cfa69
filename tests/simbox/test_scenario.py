"""Scenarios say what is wrong with them, combine, and repeat by seed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from simbox.knobs import Knobs, knobs, range_of
from simbox.scenario import FOLDER, ScenarioError, known, load


@pytest.mark.parametrize("name", known())
def test_every_scenario_turns_something_and_says_what_follows(name: str) -> None:
    assert load([name], seed=1).knobs != Knobs()
    words = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    assert words["title"]
    assert words["gate"]
    assert words["layer"]


def test_every_knob_says_what_it_takes() -> None:
    for field in knobs().values():
        assert field.metadata["words"]
        assert range_of(field)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[knobs]\nacept_p = 0.4", "unknown knob 'acept_p'; did you mean 'accept_p'?"),
        ("[knobs]\naccept_p = 1.4", "accept_p = 1.4 is out of range: it takes a number from 0 to 1"),
        ("[knobs]\naccept_p = 'half'", "accept_p = 'half' is out of range"),
        ("[knobs]\nverify_graph = 1", "verify_graph = 1 is out of range: it takes true or false"),
        ("[knobs]\ngpus = true", "gpus = True is out of range: it takes a whole number from 1 to 16"),
        ("[knobs]\nsmi = 'odd'", "smi = 'odd' is out of range: it takes one of 'works'"),
        ("[knobs]\nnccl_dropped = 'NCCL_ALGO'", "it takes a list of texts"),
        ("[knobs]\nnccl_ranks = [64]", "it takes a list of numbers from 0 to 63"),
        ("[random]\naccept_p = 0.4", "[random] accept_p = 0.4: give [lowest, highest]"),
        ("[random]\naccept_p = [0.4, 1.2]", "accept_p = 1.2 is out of range"),
        ("[knob]\naccept_p = 0.4", "unknown key 'knob'; did you mean 'knobs'?"),
        ("[knobs", "is no TOML"),
        ("a = " + "[" * 3000, "is no TOML"),
        ("a = 1" + "0" * 6000, "is no TOML"),
        ("knobs = 5", "knobs = 5: write a table, [knobs]"),
        ("[[random]]", "random = [{}]: write a table, [random]"),
        ("[random]\nverify_graph = [false, true]", "verify_graph = [False, True]: give two numbers"),
        ("[random]\nsmi = ['hangs', 'absent']", "give two numbers, the lower one first"),
        ("[random]\nnccl_ranks = [[1], [2]]", "give two numbers, the lower one first"),
        ("[random]\naccept_p = [0.6, 0.4]", "give two numbers, the lower one first"),
    ],
)
def test_an_error_names_file_key_value_and_range(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as raised:
        load([str(file)])
    assert str(file) in str(raised.value)
    assert said in str(raised.value)


def test_an_unknown_scenario_names_the_nearest() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'verify-no-graph'"):
        load(["verify-nograph"])


def test_a_path_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    for path in (tmp_path / "loop.toml", tmp_path / f"{'x' * 300}.toml", tmp_path):
        with pytest.raises(ScenarioError, match=r"no scenario|cannot be read"):
            load([f"{path}/" if path == tmp_path else str(path)])


def test_scenarios_combine_and_the_later_wins(tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text("[knobs]\npatch_ms = 2.0\naccept_p = 0.3\n")
    both = load(["incident", str(tmp_path / "more.toml")])
    assert both.names == ("incident", "more")
    assert (both.knobs.verify_graph, both.knobs.patch_ms, both.knobs.accept_p) == (False, 2.0, 0.3)


def test_what_is_drawn_is_fixed_by_the_seed() -> None:
    drawn = [load(["somewhat-slow"], seed=seed).knobs.patch_ms for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert all(0.0 <= ms <= 1.5 for ms in drawn)
