from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.test_baseline import ONE, write_run
from tests.report.hostile import ANSI, MARKUP
from tests.verdicts.evidence import EAGLE3, controls, eagle3, make_fingerprint, make_rig
from tokgate.cli.compare import compare
from tokgate.cli.errors import GateGroup
from tokgate.rig.models import Rig

RATES = (59.8, 59.6, 60.0, 59.7, 59.9, 59.8)


def tokgate(*args: str) -> Result:
    return CliRunner().invoke(GateGroup(commands={"compare": compare}), ["compare", *args])


def a_run(folder: Path, slower: float = 1.0, *, rig: Rig | None = None) -> str:
    return str(write_run(folder, *controls(), eagle3(tuple(v / slower for v in RATES)), rig=rig))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return a_run(tmp_path / "first"), a_run(tmp_path / "second", 1.08)


def told(*args: str) -> dict[str, Any]:
    found = tokgate(*args, "--json")
    assert found.exit_code == 0, found.output
    content: dict[str, Any] = json.loads(found.stdout)
    return content


def test_what_differs_comes_first_then_each_arms_change(pair: tuple[str, str]) -> None:
    found = tokgate(*pair)
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert lines[0].startswith("A  ")
    assert "run first" in lines[0]
    assert lines[2] == "settings: the same, in everything that must be equal"
    assert any(line.startswith("baseline single: decode 44.6 -> 44.6 tok/s, +0.0 %") for line in lines)
    (arm,) = (line for line in lines if line.startswith("eagle3-2step"))
    assert arm.startswith("eagle3-2step single: decode 59.8 -> 55.4 tok/s, -7.4 %")
    assert any(line.split()[:2] == ["cycle", "-7.7"] for line in lines)
    assert "split into acceptance and cycle alone: no phases of first" in found.output


def test_json_has_the_same_in_full(pair: tuple[str, str]) -> None:
    content = told(*pair)
    assert (content["schema_number"], content["simulated"]) == (1, False)
    assert (content["before"]["run_id"], content["after"]["run_id"]) == ("first", "second")
    arm = content["changes"][1]
    assert (arm["arm"], arm["workload"], arm["before"]) == ("eagle3-2step", "single", "first")
    assert arm["change"] == pytest.approx(1 / 1.08 - 1)
    assert sum(s["log"] for s in arm["split"]["shares"]) == pytest.approx(arm["split"]["whole"]["log"])


def test_one_arm_and_one_workload(pair: tuple[str, str]) -> None:
    (only,) = told(*pair, "--arm", "baseline", "--workload", "single")["changes"]
    assert only["arm"] == "baseline"


def test_settings_and_facts_that_differ_are_listed(tmp_path: Path) -> None:
    longer = make_rig(workloads=[{**ONE[0], "cache": "unique"}])
    first, second = a_run(tmp_path / "first"), a_run(tmp_path / "second", rig=longer)
    (tmp_path / "second/fingerprint.json").write_text(
        make_fingerprint({"gpu.driver": "590.1"}).model_dump_json()
    )
    found = tokgate(first, second)
    assert found.exit_code == 0, found.output
    assert "settings that differ: the numbers below are of different things" in found.output
    assert found.output.count("workload.cache: flush -> unique") == 1
    assert "gpu.driver: 580.1 -> 590.1" in found.output
    assert found.output.index("workload.cache") < found.output.index("decode 59.8")


def test_an_arm_of_one_run_alone_is_named(tmp_path: Path) -> None:
    first = str(write_run(tmp_path / "first", *controls()))
    found = tokgate(first, a_run(tmp_path / "second"))
    assert found.exit_code == 0
    assert "not compared: eagle3-2step: only " in found.output


def test_a_run_with_itself_has_no_change(pair: tuple[str, str]) -> None:
    content = told(pair[0], pair[0])
    assert [c["change"] for c in content["changes"]] == pytest.approx([0.0, 0.0])
    assert (content["changes"][0]["before"], content["changes"][0]["after"]) == ("A", "B")


def test_where_nothing_may_be_judged_the_code_says_so(tmp_path: Path) -> None:
    dead = eagle3().model_copy(update={"liveness": None})
    first = str(write_run(tmp_path / "first", dead))
    found = tokgate(first, first)
    assert found.exit_code == 11
    assert "not compared: eagle3-2step single: A: " in found.output
    assert "never finished" in found.output


@pytest.mark.parametrize(
    ("option", "name", "found"),
    [
        ("--arm", "eagle3-9step", "no arm 'eagle3-9step' that both measured"),
        ("--workload", "nine", "no workload 'nine' that both measured"),
    ],
)
def test_an_unknown_name_is_an_error_that_tells_the_known(
    pair: tuple[str, str], option: str, name: str, found: str
) -> None:
    refused = tokgate(*pair, option, name)
    assert refused.exit_code == 4
    assert found in refused.stderr
    assert "the first has" in refused.stderr


def test_runs_that_share_no_arm(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", *controls())
    other = write_run(tmp_path / "other", eagle3())
    refused = tokgate(str(one), str(other))
    assert refused.exit_code == 4
    assert "no arm in common" in refused.stderr


def test_simulated_is_never_compared_with_real(tmp_path: Path) -> None:
    real = a_run(tmp_path / "real")
    sim = Path(a_run(tmp_path / "sim", rig=make_rig(workloads=ONE, simulated=True)))
    (sim / "run.json").write_text(
        (sim / "run.json").read_text().replace('"simulated":false', '"simulated":true')
    )
    for both in ((real, str(sim)), (str(sim), real)):
        refused = tokgate(*both)
        assert refused.exit_code == 4
        assert f"{sim} is of a simulated machine, {real} of a real one" in refused.stderr


def _gone(folder: Path) -> None:
    (folder / "run.json").unlink()


def _torn(folder: Path) -> None:
    path = folder / "launches/02-eagle3-2step/generations.jsonl"
    path.write_text(path.read_text()[:-400])


def _no_json(folder: Path) -> None:
    (folder / "rig.json").write_text("{")


def _deep(folder: Path) -> None:
    (folder / "run.json").write_text("[" * 100_000)


def _other_schema(folder: Path) -> None:
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"schema_number":1', '"schema_number":2'))


def _other_rig_schema(folder: Path) -> None:
    path = folder / "rig.json"
    path.write_text(path.read_text().replace('"schema_number":1', '"schema_number":2'))


def _pipe(folder: Path) -> None:
    (folder / "rig.json").unlink()
    os.mkfifo(folder / "rig.json")


def _binary(folder: Path) -> None:
    (folder / "run.json").write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize(
    "spoil", [_gone, _torn, _no_json, _deep, _other_schema, _other_rig_schema, _pipe, _binary]
)
def test_a_folder_that_is_no_whole_run_is_an_error_on_either_side(pair: tuple[str, str], spoil: Any) -> None:
    spoil(Path(pair[0]))
    for both in (pair, pair[::-1]):
        refused = tokgate(*both)
        assert refused.exit_code == 4, refused.output
        assert refused.stdout == ""
        for word in ("tried: ", "found: ", "do: "):
            assert word in refused.stderr


def test_a_folder_that_does_not_exist(tmp_path: Path, pair: tuple[str, str]) -> None:
    refused = tokgate(pair[0], str(tmp_path / "nowhere"))
    assert refused.exit_code == 4
    assert "no such folder" in refused.stderr


def test_hostile_words_stay_on_their_line(tmp_path: Path) -> None:
    arm = {"name": "eagle3-2step", **EAGLE3}
    rig = make_rig(
        workloads=ONE,
        arms=[{"name": "baseline", "kind": "baseline"}, {**arm, "draft_model_path": f"/m/{ANSI}\n{MARKUP}"}],
    )
    first, second = a_run(tmp_path / "first"), a_run(tmp_path / "second", rig=rig)
    (tmp_path / "second/fingerprint.json").write_text(make_fingerprint({ANSI: MARKUP}).model_dump_json())
    found = tokgate(first, second)
    assert found.exit_code in (0, 11)
    assert all(line.isprintable() for line in found.output.split("\n"))
