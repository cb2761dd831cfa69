"""The scripts of gate.yml, run in bash: what the runner does with them and what they make of the gate's end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tokgate.records.verdict import EXIT_CODES, Outcome
from tokgate.report.summary_md import LIMIT_BYTES

from .workflows import ALONE, ROOT, Runner, script

ASKED = {"RIG": "mybox", "SELECTION": "eagle3 or nccl", "OPTIONS": "--rig-set a.b=1 -x", "WAIT_S": "60"}


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def gate(runner: Runner, program: str, **more: str) -> tuple[int, str]:
    runner.install(runner.checkout / ".venv" / "bin" / "pytest", program)
    return runner.run(script("gate", "Gate"), {**ASKED, **more})


@pytest.mark.parametrize("code", [0, 1, 2, 5, 10, 11, 12, 13])
def test_the_gates_exit_code_is_the_steps(runner: Runner, code: int) -> None:
    assert gate(runner, f"exit {code}")[0] == code
    assert runner.outputs == {"code": str(code)}


def test_what_the_gate_is_called_with(runner: Runner) -> None:
    _, said = gate(runner, 'printf "%s\\n" "$@"')
    assert said.splitlines() == [
        *("perf_tests", "-m", "eagle3 or nccl", "--rig", "mybox", "--wait-for-lease", "60"),
        *("--report-dir", str(runner.reports), "--rig-set", "a.b=1", "-x"),
    ]


def test_without_further_options_none_is_passed(runner: Runner) -> None:
    _, said = gate(runner, 'printf "[%s]\\n" "${@: -1}"', OPTIONS="")
    assert said == f"[{runner.reports}]\n"


def test_nothing_of_the_job_reaches_the_gate(runner: Runner) -> None:
    _, said = gate(runner, "env", CUDA_VISIBLE_DEVICES="0,1", PYTEST_ADDOPTS="--co", GITHUB_TOKEN="t")
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert "CUDA_VISIBLE_DEVICES=0,1" in said.splitlines()
    # PWD, SHLVL and _ are the shell's that stands for the gate here.
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "CI", "CUDA_VISIBLE_DEVICES"}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_job_ends_the_gate_as_ctrl_c_does(runner: Runner, how: signal.Signals) -> None:
    # Without a sleep that would outlive it: it waits for what nobody writes.
    stand_in = 'trap "echo the gate has ended; exit 2" TERM; mkfifo never; echo at work; read -r <>never'
    runner.install(runner.checkout / ".venv" / "bin" / "pytest", stand_in)
    process = runner.start(script("gate", "Gate"), ASKED)
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    os.kill(process.pid, how)  # this shell alone, as the runner does
    said, _ = process.communicate(timeout=60)
    assert said == "the gate has ended\n"
    assert process.returncode == 2
    assert runner.outputs == {"code": "2"}


def collected(runner: Runner, files: dict[str, str]) -> tuple[int, str]:
    begun = runner.temp / "begun"
    begun.touch()
    os.utime(begun, (1, 1))
    earlier = runner.reports / "20261129T000000-mybox"
    earlier.mkdir()
    (earlier / "summary.md").write_text("of yesterday")
    os.utime(earlier, (0, 0))
    run = runner.reports / "20261130T000000-mybox"
    if files:
        run.mkdir()
    for name, text in files.items():
        (run / name).write_text(text)
    return runner.run(script("gate", "Collect"))


def test_the_summary_is_this_runs(runner: Runner) -> None:
    verdict = json.dumps({"headline": "one line\ncode=0\nand more", "simulated": False})
    code, said = collected(runner, {"summary.md": "# tokgate PASS", "verdict.json": verdict})
    assert code == 0, said
    assert runner.summary == "# tokgate PASS"
    assert runner.outputs["headline"] == "one line code=0 and more"
    assert runner.outputs["run"].endswith("20261130T000000-mybox")
    assert runner.outputs["simulated"] == "no"
    assert "code" not in runner.outputs


def test_a_summary_of_the_largest_size_is_shown_and_a_larger_one_is_a_defect(tmp_path: Path) -> None:
    for size, code in ((LIMIT_BYTES, 0), (61441, 1)):
        runner = Runner(tmp_path / str(size))
        assert collected(runner, {"summary.md": "x" * size})[0] == code
        assert ("x" * 100 in runner.summary) is (code == 0)


@pytest.mark.parametrize(
    ("files", "said"), [({}, "before it began"), ({"run.json": "{}"}, "before it could report")]
)
def test_what_is_missing_is_said(runner: Runner, files: dict[str, str], said: str) -> None:
    assert collected(runner, files)[0] == 0
    assert said in runner.summary


WHOLE = {
    "RIG": "mybox",
    "REQUIRED_RIG": "mybox",
    "SELECTION": "eagle3",
    "OPTIONS": "",
    "SIMULATED": "no",
}


def told(runner: Runner, code: str, **more: str) -> tuple[int, dict[str, str]]:
    runner.install(runner.programs / "gh", f'printf "%s\\n" "$@" >"{runner.temp}/asked"')
    ended, _ = runner.run(
        script("tell", "Set the check `tokgate`"),
        {"CODE": code, "RESULT": "failure", "HEADLINE": "h", "SHA": "abc", "NEUTRAL": "", **WHOLE, **more},
    )
    asked = (runner.temp / "asked").read_text().splitlines()
    assert asked[1] == "repos/owner/name/check-runs"
    return ended, dict(line.split("=", 1) for line in asked if "=" in line)


@pytest.mark.parametrize(
    ("code", "neutral", "conclusion"),
    [
        ("0", "", "success"),
        ("10", "", "failure"),
        ("11", "", "failure"),
        ("12", "", "failure"),
        ("13", "", "failure"),
        ("10", "10 12", "neutral"),
        ("12", "10 12", "neutral"),
        ("11", "11", "neutral"),
        ("11", "10 12", "failure"),
        # A loss, a defect and a gate that said nothing always stand in the way.
        ("13", "10 11 12 13", "failure"),
        ("1", "1", "failure"),
        ("3", "3", "failure"),
        ("4", "4", "failure"),
        ("5", "5", "failure"),
        ("2", "2", "cancelled"),
        ("137", "10", "failure"),
        ("", "10 11 12", "failure"),
    ],
)
def test_what_stands_in_the_way_of_a_merge(runner: Runner, code: str, neutral: str, conclusion: str) -> None:
    ended, asked = told(runner, code, NEUTRAL=neutral)
    assert (asked["name"], asked["head_sha"], asked["conclusion"]) == ("tokgate", "abc", conclusion)
    assert ended == (conclusion not in ("success", "neutral"))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"SIMULATED": "yes"}, "SIMULATED: "),
        ({"SIMULATED": ""}, "on a machine not known to be real: "),
        ({"RIG": "quick"}, "of the rig quick, not mybox: "),
        ({"REQUIRED_RIG": ""}, "of the rig mybox, not one of TOKGATE_RIG: "),
        ({"SELECTION": "verify"}, "of -m verify alone: "),
        ({"SELECTION": "sweep"}, "of -m sweep alone: "),
        ({"SELECTION": "baseline"}, "of -m baseline alone: "),
        ({"OPTIONS": "-k lossless"}, "with -k lossless: "),
        ({"OPTIONS": "--rejudge=reports/latest"}, "with --rejudge=reports/latest: "),
        ({"OPTIONS": "--rig-set server.python=/x -k a"}, "with --rig-set server.python=/x -k a: "),
        ({"OPTIONS": "--rig-set floors.relative=0.9"}, "with --rig-set floors.relative=0.9: "),
    ],
)
def test_a_part_or_a_simulation_never_sets_the_required_check(
    runner: Runner, asked: dict[str, str], says: str
) -> None:
    ended, check = told(runner, "0", **asked)
    assert (check["name"], check["conclusion"]) == ("tokgate-partial", "neutral")
    assert check["output[title]"] == f"{says}every promise holds"
    assert ended == 0
    if asked.get("SIMULATED") != "":
        # GitHub takes a neutral check for kept as well, so that must not be the required one either.
        _, check = told(runner, "12", NEUTRAL="12", **asked)
        assert (check["name"], check["conclusion"]) == ("tokgate-partial", "neutral")
        ended, check = told(runner, "13", **asked)
        assert (check["name"], check["conclusion"], ended) == ("tokgate-partial", "failure", 1)


@pytest.mark.parametrize(
    "asked",
    [{"SELECTION": "eagle3 or nccl"}, {"OPTIONS": "--rig-set server.python=/srv/builds/1234/bin/python3"}],
)
def test_the_whole_gate_of_another_build_sets_it(runner: Runner, asked: dict[str, str]) -> None:
    _, check = told(runner, "0", **asked)
    assert (check["name"], check["conclusion"]) == ("tokgate", "success")


def test_without_a_rig_nothing_is_measured_and_the_check_says_what_to_set(runner: Runner) -> None:
    ended, said = runner.run(script("gate", "Know the rig"), {"RIG": ""})
    assert (ended, "TOKGATE_RIG" in said) == (1, True)
    assert runner.run(script("gate", "Know the rig"), {"RIG": "mybox"})[0] == 0
    assert "sim-8gpu" not in (ROOT / ".github" / "workflows" / "gate.yml").read_text()
    _, check = told(runner, "", RIG="", REQUIRED_RIG="", SIMULATED="")
    assert (check["name"], check["conclusion"]) == ("tokgate", "failure")
    assert check["output[title]"] == "no rig to measure: the variable TOKGATE_RIG is not set"


def test_a_headline_is_text_and_nothing_else(runner: Runner) -> None:
    hostile = '$(touch owned) `touch owned` "; touch owned; #'
    _, asked = told(runner, "13", HEADLINE=hostile)
    assert asked["output[summary]"] == hostile
    assert asked["output[title]"] == "regressed: slower than allowed"
    assert not list(runner.checkout.glob("owned"))


def test_the_workflow_names_the_codes_as_the_gate_does() -> None:
    cases = script("tell", "Set the check `tokgate`")
    for word in (Outcome.INCONCLUSIVE, Outcome.INVALID, Outcome.NO_BASELINE, Outcome.REGRESSED):
        assert f'{EXIT_CODES[word]}) conclusion=failure title="{word.value.replace("-", " ")}' in cases


@pytest.mark.skipif(
    subprocess.run((*ALONE, "true"), check=False, capture_output=True).returncode != 0,
    reason="no process table of its own can be had here: servers of other tests would make the machine unclean",
)
def test_the_box_is_really_looked_at(runner: Runner) -> None:
    """On the simulated box: the rig is checked, the gate looks, its folder is collected."""
    asked = {
        "RIG": "sim-8gpu",
        "SELECTION": "eagle3",
        "OPTIONS": f"-k at_the_start --sim-state {runner.temp}/box --rig-set host.work_dir={runner.temp}/work",
        "WAIT_S": "60",
    }
    assert runner.run(script("gate", "Check the rig"), asked, cwd=ROOT)[0] == 0
    code, said = runner.run(script("gate", "Gate"), asked, cwd=ROOT, enter=ALONE)
    assert code == 0, said
    assert "SIMULATED" in said
    assert runner.run(script("gate", "Collect"), cwd=ROOT)[0] == 0
    assert runner.outputs["code"] == "0"
    assert "SIMULATED PASS" in runner.summary
    assert runner.outputs["simulated"] == "yes"
    kept = {path.name for path in Path(runner.outputs["run"]).iterdir()}
    assert {"verdict.json", "junit.xml", "report.html", "summary.md"} <= kept
    _reporters_can_read(Path(runner.outputs["run"]) / "junit.xml")


def _reporters_can_read(path: Path) -> None:
    """Hold junit.xml to what those of Jenkins, GitLab and GitHub read: names, seconds, and no element of ours."""
    (suite,) = ET.parse(path).getroot().findall("testsuite")
    cases = suite.findall("testcase")
    assert (len(cases), suite.get("tests")) == (1, "1")
    assert [int(suite.get(name, "")) for name in ("errors", "failures", "skipped")] == [0, 0, 0]
    for case in cases:
        assert case.get("classname") == "perf_tests.test_clean_slate"
        assert float(case.get("time", "")) > 0
        assert {child.tag for child in case} <= {"properties", "failure", "skipped", "error", "system-out"}
    told = {p.get("name"): p.get("value") for p in suite.iterfind("./properties/property")}
    assert (told["tokgate.outcome"], told["tokgate.simulated"]) == ("pass", "true")
