from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.baseline_checkout import ONE, write_run
from tests.cli.compared_runs import SEEN, a_run, tokgate, told
from tests.verdicts.evidence import controls, make_fingerprint, make_rig
from tokgate.cli.compare import compare
from tokgate.cli.errors import GateGroup


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return a_run(tmp_path / "first"), a_run(tmp_path / "second", 1.08)


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
    assert re.fullmatch(
        r"  worse than A, interval -\d+\.\d% to -\d\.\d%; 1 run of 6 starts against 1 run of 1 session",
        lines[lines.index(arm) + 1],
    )
    assert any(line.split()[:2] == ["cycle", "-7.4"] for line in lines)
    assert re.fullmatch(
        re.escape(
            "B against A: eagle3-2step single -7.4 % tok/s, mostly the cycle (-7.4 %); no change beyond 2 % shown of "
            "baseline single "
        )
        + SEEN,
        lines[-1],
    )
    assert "split into acceptance and cycle alone: no phases of first" in found.output


def test_the_numbers_of_a_change_stand_below_each_other(pair: tuple[str, str]) -> None:
    lines = [line for line in tokgate(*pair).output.splitlines() if line.startswith("    ") and "->" in line]
    assert len(lines) == 3
    for mark in ("(", "…", ")", "->"):
        assert len({line.index(mark) for line in lines}) == 1


def test_a_run_may_be_named_by_its_id(tmp_path: Path, pair: tuple[str, str]) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/third").symlink_to(pair[0])
    found = CliRunner().invoke(
        GateGroup(commands={"compare": compare}), ["compare", "third", pair[1]], obj=tmp_path
    )
    assert found.exit_code == 0, found.output
    assert found.output.startswith(f"A  {tmp_path}/reports/third")
    assert (
        "no such folder"
        in CliRunner()
        .invoke(GateGroup(commands={"compare": compare}), ["compare", "fourth", pair[1]], obj=tmp_path)
        .stderr
    )


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
    assert "A and B are one run: whatever differs below is no change" in tokgate(pair[0], pair[0]).output
    assert "one run" not in tokgate(*pair).output


def test_a_change_that_restarts_make_too_is_none_in_the_conclusion(tmp_path: Path) -> None:
    """Of one server run a side little is known of how far restarts differ: what could have been seen stands beside it."""
    found = tokgate(a_run(tmp_path / "first"), a_run(tmp_path / "second", 1.005))
    assert re.fullmatch(
        f"B against A: no change beyond 2 % shown of baseline single {SEEN}, eagle3-2step single {SEEN}",
        found.output.splitlines()[-1],
    )


def test_no_change_without_the_power_to_see_one_is_undecided(tmp_path: Path) -> None:
    found = tokgate(a_run(tmp_path / "first"), a_run(tmp_path / "second", 1.017))
    assert "  undecided against A, interval" in found.output
    assert "more sessions like A; 1 run of 6 starts against 1 run of 1 session" in found.output
    assert re.search(
        r"eagle3-2step single \(a loss of [34]\.\d% is not excluded\)$", found.output.splitlines()[-1]
    )
