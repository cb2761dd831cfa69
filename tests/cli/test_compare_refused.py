"""What `tokgate compare` does not compare, and why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.baseline_checkout import ONE, write_run
from tests.cli.compared_runs import a_run, tokgate
from tests.report.hostile import ANSI, MARKUP
from tests.verdicts.evidence import EAGLE3, controls, eagle3, make_fingerprint, make_rig


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return a_run(tmp_path / "first"), a_run(tmp_path / "second", 1.08)


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


@pytest.mark.parametrize("spoil", [_gone, _no_json, _deep, _other_schema, _other_rig_schema, _pipe, _binary])
def test_a_folder_that_is_no_whole_run_is_an_error_on_either_side(pair: tuple[str, str], spoil: Any) -> None:
    spoil(Path(pair[0]))
    for both in (pair, pair[::-1]):
        refused = tokgate(*both)
        assert refused.exit_code == 4, refused.output
        assert refused.stdout == ""
        for word in ("tried: ", "found: ", "do: "):
            assert word in refused.stderr


def test_a_launch_with_a_torn_line_is_not_compared_and_the_others_are(pair: tuple[str, str]) -> None:
    _torn(Path(pair[0]))
    found = tokgate(*pair)
    assert found.exit_code == 0
    said = " ".join(found.stdout.split())
    assert "not compared: eagle3-2step single" in said
    assert "launches/02-eagle3-2step/generations.jsonl, line " in said
    assert "baseline single: decode" in said
    assert "eagle3-2step single: decode" not in said


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
    assert "[31m" in found.output or "markup" in found.output.lower() or MARKUP[:8] in found.output
    assert f"/models/draft -> /m/red {MARKUP}" in found.output
    assert all(line.isprintable() for line in found.output.split("\n"))
