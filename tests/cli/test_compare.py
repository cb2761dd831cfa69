from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.test_baseline import ONE, write_run
from tests.report.hostile import ANSI, MARKUP
from tests.verdicts.evidence import EAGLE3, controls, eagle3, make_fingerprint, make_rig, make_run
from tests.verdicts.phase_evidence import carrying, table
from tests.verdicts.test_launch_phases import whole
from tokgate.cli import compare as command
from tokgate.cli.compare import compare
from tokgate.cli.errors import GateGroup
from tokgate.records import LaunchEvidence, RunEvidence
from tokgate.records.phases import Phase
from tokgate.rig.models import Rig

SEEN = r"\(a loss of [12]\.\d% would have been seen\)"
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


@pytest.fixture
def of_instruments(monkeypatch: pytest.MonkeyPatch) -> dict[str, RunEvidence]:
    """Runs by name; on disk phases would be read anew from the probe's own files."""
    runs: dict[str, RunEvidence] = {}
    monkeypatch.setattr(command, "load_run", lambda path: (runs[path.name], make_rig(workloads=ONE)))
    return runs


def carried(verify: float, *launches: LaunchEvidence, run_id: str) -> RunEvidence:
    """A run of `-m verify`: the arm carried its instruments, and nothing else was timed but `launches`."""
    run = make_run(*launches, carrying(table(*whole(verify=verify))))
    return run.model_copy(update={"info": run.info.model_copy(update={"run_id": run_id})})


def test_runs_of_the_instruments_alone_have_their_phases_compared(
    of_instruments: dict[str, RunEvidence],
) -> None:
    of_instruments["first"] = carried(25.0, *controls(), run_id="first")
    of_instruments["second"] = carried(30.0, *controls(), run_id="second")
    found = tokgate("first", "second")
    assert found.exit_code == 0, found.output
    (verify,) = (line for line in found.output.splitlines() if line.split()[:1] == ["verify"])
    assert verify.split()[1] == "+20.0"
    assert "ms p50" in verify
    assert "not compared: eagle3-2step" not in found.output
    assert re.fullmatch(
        re.escape(
            "B against A: eagle3-2step single verify +20.0 % a call, tok/s not timed; no change beyond 2 % shown of "
            "baseline single "
        )
        + SEEN,
        found.output.splitlines()[-1],
    )


def test_nothing_but_instruments_in_both_is_a_comparison(of_instruments: dict[str, RunEvidence]) -> None:
    of_instruments["first"], of_instruments["second"] = (carried(25.0, run_id=n) for n in ("a", "b"))
    content = told("first", "second")
    assert content["changes"] == []
    assert [p["phase"] for p in content["phases"][0]["phases"]] == ["draft", "verify", "extend"]


def test_an_arm_that_one_run_did_not_time_says_which(of_instruments: dict[str, RunEvidence]) -> None:
    of_instruments["first"] = carried(25.0, *controls(), run_id="first")
    of_instruments["second"] = carried(25.0, *controls(), eagle3(RATES), run_id="second")
    found = tokgate("first", "second")
    assert (
        "not compared: eagle3-2step: its speed: only second timed it, first carried instruments alone (-m verify)"
        in found.output
    )
    assert "phases by probe" in found.output


def test_instruments_that_left_a_workload_out_say_so(tmp_path: Path) -> None:
    rig = make_rig(instruments={"workloads": ["single"]})
    runs = [write_run(tmp_path / n, carrying(table(*whole())), rig=rig) for n in ("first", "second")]
    found = tokgate(*map(str, runs))
    assert "not compared: eagle3-2step pair: first: 05-eagle3-2step-phases did not take pair" in found.output


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


def test_a_phase_with_two_modes_moves_in_the_mean(of_instruments: dict[str, RunEvidence]) -> None:
    """Every third call of verify is long now, where every tenth was: the middle call is the same."""
    for name, mean in (("first", 25.0), ("second", 27.0)):
        run = carried(25.0, run_id=name)
        (launch,) = run.launches
        assert launch.phases is not None
        readings = tuple(
            r.model_copy(
                update={
                    "mean_ms": mean,
                    "starts": tuple(
                        s.model_copy(update={"mean_ms": mean * (1 + s.batch / 1000)}) for s in r.starts
                    ),
                }
            )
            if r.phase is Phase.VERIFY
            else r
            for r in launch.phases.readings
        )
        told = launch.phases.model_copy(update={"readings": readings})
        of_instruments[name] = run.model_copy(
            update={"launches": (launch.model_copy(update={"phases": told}),)}
        )
    found = tokgate("first", "second")
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    (middle,) = (n for n, line in enumerate(lines) if line.split()[:1] == ["verify"])
    assert lines[middle].split()[1] == "0.0"
    assert lines[middle].endswith("ms p50")
    assert lines[middle + 1].split()[0] == "+8.0"
    assert lines[middle + 1].endswith("ms mean")
    assert lines[-1] == (
        "B against A: eagle3-2step single verify +8.0 % a call in the mean, +0.0 % in the middle one, tok/s not timed"
    )


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
