"""`tokgate selftest`: what it says beforehand, what it refuses, and a short one on the simulated box."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.gate.machine import Program, machine
from tests.verdicts.selftest_examples import eight, selftest
from tokgate.cli.main import main
from tokgate.rig.load import load_rig
from tokgate.verdicts.selftest_file import save_selftest

ROOT = Path(__file__).parents[2]


def tokgate(*args: str) -> Result:
    return CliRunner().invoke(main, ["--root", str(ROOT), "selftest", "--rig", "sim-8gpu", *args])


def test_it_says_beforehand_what_it_will_do(tmp_path: Path) -> None:
    found = tokgate("--dry-run", "--store", str(tmp_path), "--plant", "0.02,0.10", "--budget", "600")
    assert found.exit_code == 0
    assert found.output.startswith("SIMULATED")
    assert "8 server runs of eagle3-2step, 4 blocks each (single; nothing planted, 2 %, 10 %)" in found.output
    assert "the first 4 runs stand for the stored baseline" in found.output
    assert "the budget of 600 s" in found.output
    assert "the rig calls no loss of up to" in found.output
    assert list(tmp_path.iterdir()) == []


def test_how_long_is_known_from_the_one_before(tmp_path: Path) -> None:
    rig = load_rig("sim-8gpu", root=ROOT)
    save_selftest(tmp_path, selftest(rig, eight()))
    found = tokgate("--dry-run", "--store", str(tmp_path), "--plant", "0.05,0.10")
    assert "8 server runs of about 60 s: 8 min" in found.output


def test_a_budget_that_the_one_before_has_shown_to_be_too_little_is_refused(tmp_path: Path) -> None:
    rig = load_rig("sim-8gpu", root=ROOT)
    save_selftest(tmp_path, selftest(rig, eight()))
    same = ("--dry-run", "--store", str(tmp_path), "--plant", "0.05,0.10", "--repeats", "6")
    found = tokgate(*same, "--budget", "150")

    assert found.exit_code == 4
    assert "8 server runs of about 60 s: 8 min, and the budget of 150 s leaves 150 s" in found.output
    assert "do:    --budget 530" in found.output
    assert tokgate(*same, "--budget", "530").exit_code == 0
    assert tokgate(*same[:-1], "1", "--budget", "150").exit_code == 0  # of another size: nobody knows
    assert tokgate(*same, "--budget", "150", "--rig-set", "workloads.single.output_tokens=8").exit_code == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--plant", "5%"), "'5%'"),
        (("--plant", "5"), "a loss of 5 to plant"),
        (("--arm", "nobody"), "no arm 'nobody' in the rig sim-8gpu"),
        (("--restarts", "1"), "0 of 1 server runs as the baseline"),
        (("--restarts", "-3"), "-2 of -3 server runs as the baseline"),
        (("--baseline-runs", "-2"), "-2 of 8 server runs as the baseline"),
        (("--budget", "nan"), "a budget of nan s"),
        (("--budget", "-5"), "a budget of -5 s"),
        (("--workload", "single", "--workload", "single"), "workload single is named twice"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: tuple[str, ...], said: str) -> None:
    found = tokgate("--dry-run", *wrong)
    assert found.exit_code == 4
    assert said in found.output


def test_what_is_stored_is_shown(tmp_path: Path) -> None:
    assert "no self-test of sim-8gpu is stored" in tokgate("--show", "--store", str(tmp_path)).output
    save_selftest(tmp_path, selftest(load_rig("sim-8gpu", root=ROOT), eight()))
    shown = tokgate("--show", "--store", str(tmp_path)).output
    (row,) = (line for line in shown.splitlines() if line.startswith("10 %"))
    assert "1 of 1" in row
    assert "24 of 24" in row
    assert "0 of 1 sessions alarmed (≤ 95 %)" in shown


INTERRUPTED = """
import os, signal, sys
from tokgate.cli.main import main
from tokgate.session.selftest import SelfTesting

def run(self):
    try:
        os.kill(os.getpid(), signal.{name})
        signal.pause()
    finally:
        os.kill(os.getpid(), signal.{name})  # a closed terminal tells twice
        print("stopped", flush=True)

SelfTesting.run = run
main(["--root", {root!r}, "selftest", "--rig", "sim-8gpu", "--store", sys.argv[1]])
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_interrupt_before_anything_was_measured_names_no_file(tmp_path: Path, name: str) -> None:
    """And stops the server in peace, whatever comes again meanwhile."""
    program = INTERRUPTED.format(name=name, root=str(ROOT))
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout.splitlines()[-2:] == ["stopped", "interrupted: nothing was measured yet"]
    assert list(tmp_path.iterdir()) == []


def test_under_nohup_the_end_of_the_terminal_interrupts_nothing(tmp_path: Path) -> None:
    program = INTERRUPTED.format(name="SIGHUP", root=str(ROOT)).replace("signal.pause()", "sys.exit(7)")
    ended = subprocess.run(
        ["nohup", sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 7, ended.stderr


@contextmanager
def on_a_box(folder: Path, *args: str) -> Iterator[Program]:
    """Begin it for real, short, on a box and in a process table of its own."""
    command = [sys.executable, "-u", "-c", "from tokgate.cli.main import main; main()", "--root", str(ROOT)]
    command += ["selftest", "--rig", "sim-8gpu", "--store", str(folder), "--report-dir", str(folder / "r")]
    for setting in (
        f"host.work_dir={folder}/w",
        f"host.environment.SIMBOX_STATE={folder}/box",
        "workloads.single.output_tokens=24",
        "server.args.tp_size=2",
        "server.nccl={}",
    ):
        command += ["--rig-set", setting]
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SIMBOX_", "PYTHONPATH"))}
    with machine() as own:
        yield own.start(
            [*command, *args],
            cwd=ROOT,
            env=ours,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def stored(folder: Path) -> dict[str, Any]:
    (file,) = (folder / "selftests" / "sim-8gpu").glob("*.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.slow
def test_on_a_simulated_box_a_planted_loss_is_really_lost(tmp_path: Path) -> None:
    with on_a_box(tmp_path, "--restarts", "2", "--plant", "0.3", "--repeats", "3") as program:
        code, said = program.finish(240.0)
    assert code == 0, said
    found = stored(tmp_path)
    planted = next(one for one in found["found"] if one["planted"] == 0.3)
    assert found["complete"]
    assert 0.25 < planted["really"] < 0.33
    assert planted["trials"]["of"] == 1
    assert found["alarms"] == {"seen": 0, "of": 1, "low": 0.0, "high": pytest.approx(0.95)}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_was_measured_until_an_interrupt_is_kept(tmp_path: Path, number: signal.Signals) -> None:
    with on_a_box(tmp_path, "--restarts", "2", "--plant", "0.3", "--repeats", "3") as program:
        while "single.1: " not in program.hear():
            assert program.lives
        program.signal(number)
        code, said = program.finish(120.0)
    assert code == 2, said
    found = stored(tmp_path)
    assert (found["complete"], found["why_incomplete"]) == (False, "interrupted")
    (run,) = found["launches"]
    assert run["blocks"][0]["values"]["decode_tok_s"]
    assert run["blocks"][2]["fault"]
    launch = json.loads(next((tmp_path / "r").glob("*/launches/*/launch.json")).read_text())
    assert launch["stop"]["survivors"] == []


@pytest.mark.slow
def test_where_nothing_can_be_planted_it_says_why_and_stores_nothing(tmp_path: Path) -> None:
    with on_a_box(tmp_path, "--restarts", "2", "--rig-set", "server.args.sim_version=0.5.9") as program:
        code, said = program.finish(120.0)
    assert code == 11, said
    assert "SGLang 0.5.9 has no plugin framework" in said
    assert not (tmp_path / "selftests").exists()
