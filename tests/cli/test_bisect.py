"""Exit codes of a step by what its session left, and `git bisect run` on a small repository over the simulated box."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.gate.machine import Machine, Program, machine, marked, wait_for
from tests.hosts.side_trees import git
from tests.session.sim_series import CULPRIT, QUICK, series
from tokgate.cli.bisect_left import candidates
from tokgate.cli.bisect_step import BAD, GOOD, SKIP, STOP, step_of
from tokgate.cli.main import main
from tokgate.cli.start import for_git

ROOT = Path(__file__).parents[2]


def verdict(outcome: str, metric: str | None = "decode_tok_s", **changes: Any) -> dict[str, Any]:
    fields = {
        "check": "patch",
        "outcome": outcome,
        "headline": f"{metric} is {outcome}",
        "arm": "eagle3-2step",
        "workload": "single",
        "metric": metric,
        "value": 86.0,
        "unit": "tok/s",
        "change": -0.075,
        "interval": [-0.08, -0.07],
        "reference": {"value": 93.0},
    }
    return {**fields, **changes}


def launch(role: str, *, starts: bool) -> dict[str, Any]:
    return {
        "role": role,
        "failure": None if starts else {"cause": "crashed"},
        "ready_after_s": 9.0 if starts else None,
    }


def session(*verdicts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"run": {"fault": None}, "verdicts": list(verdicts), "launches": [], "headline": "h", **changes}


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (session(verdict("pass")), GOOD),
        (session(verdict("improved")), GOOD),
        (session(verdict("regressed")), BAD),
        (session(verdict("pass"), verdict("regressed", "ttft_ms")), BAD),
        (session(verdict("inconclusive")), SKIP),
        (session(verdict("pass"), verdict("inconclusive", "ttft_ms")), GOOD),
        (session(verdict("invalid", None, value=None)), STOP),
        (session(), STOP),
        (None, STOP),
        (session(run={"fault": ["to make the sides of the change on local", "compiled parts differ", "…"]}), SKIP),
        (session(run={"fault": ["to make the sides of the change on local", "git: unable to write file x", "…"]}), STOP),
        (session(run={"fault": ["to take the lease", "another gate holds the host", "wait"]}), STOP),
    ],
)  # fmt: skip
def test_an_outcome_becomes_the_code_that_git_wants(file: dict[str, Any] | None, code: int) -> None:
    assert step_of(file, 11).code == code


@pytest.mark.parametrize(("base_starts", "code"), [(True, SKIP), (False, STOP)])
def test_a_server_that_does_not_start_is_the_commits_where_the_good_one_does(
    base_starts: bool, code: int
) -> None:
    launches = [launch("arm", starts=False), launch("side", starts=base_starts)]
    assert step_of(session(verdict("invalid", None, value=None), launches=launches), 11).code == code


def test_a_commit_that_does_not_compile_is_skipped_though_no_server_was_started_at_all() -> None:
    slip = {**launch("arm", starts=False), "failure": {"cause": "does-not-compile"}}
    left_out = {**launch("side", starts=False), "failure": None}
    found = step_of(session(verdict("invalid", None, value=None), launches=[slip, left_out]), 11)
    assert found.code == SKIP


def test_a_server_whose_log_could_not_be_written_blames_no_commit() -> None:
    lost = {**launch("arm", starts=False), "failure": {"cause": "empty-log"}}
    launches = [lost, launch("side", starts=True)]
    assert step_of(session(verdict("invalid", None, value=None), launches=launches), 11).code == STOP


@pytest.mark.parametrize(
    ("code", "words", "told"),
    [
        (4, ("--root", "/no/such", "bisect"), STOP),
        (11, ("bisect", "--good", "x"), STOP),
        (1, ("bisect",), BAD),
        (125, ("bisect",), SKIP),
        (0, ("bisect",), GOOD),
        (130, ("bisect",), 130),
        (4, ("rig", "list"), 4),
    ],
)
def test_no_slip_on_the_way_to_the_command_is_a_bad_commit(
    code: int, words: tuple[str, ...], told: int
) -> None:
    assert for_git(code, words) == told


def test_a_good_step_says_by_how_much_it_was_told() -> None:
    found = step_of(session(verdict("pass", value=93.1, change=0.001, interval=[-0.004, 0.006])), 0)
    assert found.why == (
        "no slower than the good commit: eagle3-2step/single decode_tok_s 93.1 against 93 tok/s, +0.1 % [-0.4, +0.6] pass"
    )


def test_figures_of_a_step_can_be_read() -> None:
    (told,) = step_of(session(verdict("regressed")), 13).figures
    assert told == "eagle3-2step/single decode_tok_s 86 against 93 tok/s, -7.5 % [-8.0, -7.0] regressed"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return series(tmp_path_factory.mktemp("sglang"))


def test_what_git_reckons_is_left_is_told_before_a_step(checkout: Path) -> None:
    assert candidates(checkout) is None, "nothing is bisected there"
    git(checkout, "checkout", "-q", "series")
    git(checkout, "bisect", "start", "series", "good")
    try:
        assert candidates(checkout) == "3 commits may be the first bad one, about 2 steps with this one"
        git(checkout, "bisect", "bad")
        assert candidates(checkout) == "2 commits may be the first bad one, about 1 step with this one"
    finally:
        git(checkout, "bisect", "reset")


Asked = Callable[..., Result]


@pytest.fixture
def asked(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.chdir(checkout)

    def ask(*words: str) -> Result:
        command = ["--root", str(ROOT), "bisect", "--report-dir", str(tmp_path / "runs"), *words]
        return CliRunner().invoke(main, command)

    return ask


def test_the_good_commit_itself_is_good_and_nothing_is_measured(checkout: Path, asked: Asked) -> None:
    head = git(checkout, "rev-parse", "HEAD").strip()
    found = asked("--good", head, "--rig", "sim-8gpu")
    assert found.exit_code == GOOD
    assert "nothing is measured" in found.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--good", "no-such-ref", "--rig", "sim-8gpu"), "git knows none there"),
        (("--good", "good", "--rig", "no-such-rig"), "no-such-rig"),
        (("--good", "good", "--rig", "sim-8gpu", "--arm", "eagle9"), "eagle3-2step"),
        (("--good", "good"), "--rig"),
    ],
)
def test_a_mistake_in_the_command_ends_the_bisection(asked: Asked, words: tuple[str, ...], told: str) -> None:
    found = asked(*words)
    assert found.exit_code == STOP, found.output
    assert told in found.output


def command(folder: Path, settings: tuple[str, ...]) -> list[str]:
    """Return `tokgate bisect …` on a simulated box of its own in `folder`."""
    tokgate = str(Path(sys.executable).with_name("tokgate"))
    words = [tokgate, "--root", str(ROOT), "bisect", "--good", "good", "--rig", "sim-8gpu"]
    words += ["--report-dir", str(folder / "runs"), f"--sim-state={folder / 'box'}"]
    for setting in (f"host.work_dir={folder}/work", *QUICK, *settings):
        words += ["--rig-set", setting]
    return words


def started(own: Machine, words: Sequence[str], checkout: Path) -> Program:
    from tests.scenarios.gate_run import closed_environment

    return own.start(
        words,
        cwd=checkout,
        env=closed_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def bisect(checkout: Path, folder: Path, *words: str) -> tuple[int, str]:
    """Run a command in the checkout that ends in `tokgate bisect …`, in a process table of its own."""
    with machine() as own:
        return started(own, [*words, *command(folder, ("sampling.gpu_time_s=0",))], checkout).finish(480.0)


@pytest.mark.slow
def test_a_step_that_is_killed_leaves_no_gate_and_no_server_behind(checkout: Path, tmp_path: Path) -> None:
    """SIGKILL of the command alone: git has its answer, and nobody waits for the gate below it."""
    git(checkout, "checkout", "-q", "series")
    with machine() as own:
        program = started(own, command(tmp_path, ()), checkout)
        wait_for(lambda: "warm-up" in program.hear(), limit_s=120.0)
        (launch,) = (tmp_path / "runs").glob("2*/launches/*")
        mark = json.loads((launch / "launch.json").read_text())["server"]["mark"]
        assert marked(mark)
        program.signal(signal.SIGKILL)
        report = launch.parents[1] / "verdict.json"
        wait_for(report.is_file, limit_s=120.0)
        assert json.loads(report.read_text())["outcome"] == "interrupted"
        wait_for(lambda: not marked(mark))
    assert [path.name for path in (tmp_path / "work/lease").iterdir()] == ["lock"]


@pytest.mark.slow
@pytest.mark.alone
def test_git_bisect_run_finds_the_commit_that_waits(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "checkout", "-q", "series")
    git(checkout, "bisect", "start", "series", "good")
    try:
        code, said = bisect(checkout, tmp_path, "git", "bisect", "run")
    finally:
        git(checkout, "bisect", "reset")
    assert code == 0, said
    assert "is the first bad commit" in said
    assert CULPRIT in said.rpartition("is the first bad commit")[2]
    assert "3 commits may be the first bad one" in said
    steps = [json.loads(line) for line in (tmp_path / "runs/bisect.jsonl").read_text().splitlines()]
    assert {step["code"] for step in steps} == {GOOD, BAD}
    for step in steps:
        assert (tmp_path / "runs" / step["run"] / "report.html").is_file()


@pytest.mark.slow
def test_a_commit_with_other_kernels_is_skipped(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "checkout", "-q", "kernels")
    try:
        code, said = bisect(checkout, tmp_path)
    finally:
        git(checkout, "checkout", "-q", "series")
    assert code == SKIP, said
    assert "compiled parts" in said
