"""`tokgate sim` as a person meets it: scenarios told and played, a box that stands, is broken and mended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokgate.cli.main import main
from tokgate.cli.sim_program import scenarios

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (REPOSITORY / "simbox").is_dir(), reason="no simbox/")


def tokgate(*arguments: str, root: Path = REPOSITORY) -> Result:
    return CliRunner().invoke(main, ["--root", str(root), *arguments], prog_name="tokgate")


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Path]:
    """A folder for a box of the test's own; whatever stands there is ended behind it."""
    yield tmp_path / "box"
    tokgate("sim", "down", "--state", str(tmp_path / "box"))


def sim(box: Path, *words: str) -> Result:
    return tokgate("sim", words[0], "--state", str(box), *words[1:])


def test_each_scenario_is_listed_with_what_it_plants_and_what_should_be_concluded() -> None:
    result = tokgate("sim", "list")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    text = " ".join(result.stdout.split())
    assert len(scenarios()) > 40
    for one in scenarios():
        assert f"{one.name} {one.title} -> {one.gate}" in text


def test_the_one_that_the_help_begins_with_is_listed_and_found() -> None:
    assert tokgate("sim", "list").stdout.split()[0] == "healthy"
    assert 'nearest known name: "healthy"' in tokgate("sim", "run", "helthy").stderr


def test_a_word_narrows_the_list() -> None:
    assert tokgate("sim", "list", "thermal").exit_code == 4
    names = {line.split()[0] for line in tokgate("sim", "list", "nccl").stdout.splitlines() if line[0] != " "}
    assert {"nccl-dropped", "nccl-one-rank"} <= names
    assert "heat" not in names


def test_a_scenario_is_shown_with_its_file() -> None:
    result = tokgate("sim", "show", "incident")
    assert "regressed: verify, then the tree; not NCCL" in result.stdout
    assert "verify_graph = false" in result.stdout
    assert "tokgate sim run incident" in result.stdout


def test_a_file_of_ones_own_is_a_scenario_by_its_path_and_shown_harmless(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "a \\u001b[31mred\\u001b[0m one"\n[knobs]\nverify_factor = 1.2\n')
    result = tokgate("sim", "show", str(file))
    assert "\x1b" not in result.stdout
    assert "a red one" in result.stdout
    assert tokgate("sim", "show", str(tmp_path / "other.toml")).exit_code == 4


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("incident",), "pytest perf_tests -m eagle3 --rig sim-8gpu --sim-scenario incident"),
        (("heat,dies",), "pytest perf_tests -m eagle3 --rig sim-8gpu --sim-scenario heat,dies"),
        (("healthy",), "pytest perf_tests -m eagle3 --rig sim-8gpu --sim-seed 0"),
        (("dies", "-m", "verify", "-q"), "pytest perf_tests --rig sim-8gpu --sim-scenario dies -m verify -q"),
        (("dies", "--rig", "mine"), "pytest perf_tests -m eagle3 --sim-scenario dies --rig mine"),
    ],
)
def test_the_command_that_plays_a_scenario_is_printed(words: tuple[str, ...], command: str) -> None:
    result = tokgate("sim", "run", *words, "--print")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "SIMULATED  rig sim-8gpu: no number here says anything about a real machine",
        f"$ {command}",
    ]


@pytest.mark.slow
def test_the_gates_exit_code_passes_through_beside_what_was_expected(tmp_path: Path) -> None:
    """smi-absent is concluded before any server starts."""
    words = ["sim", "run", "smi-absent", "-q", "--report-dir", str(tmp_path / "r"),
             "--rig-set", f"host.work_dir={tmp_path / 'w'}"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", "from tokgate.cli.main import main; main()", *words],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 11, done.stdout + done.stderr
    tail = done.stdout.splitlines()[-3:]
    assert tail[0] == "planted   smi-absent: there is no nvidia-smi"
    assert tail[1] == "expected  invalid: nothing can be asked"
    assert tail[2] == "ended     invalid, exit code 11"


def test_pytests_own_refusal_passes_through(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tokgate.cli.main import main; main()", "sim", "run", "dies", "--no-such-option"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 4
    assert "--no-such-option" in done.stderr


def test_what_was_broken_off_is_not_called_a_wrong_conclusion(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, told in ((2, False), (13, True)):
        monkeypatch.setattr("tokgate.cli.sim.handed_over", lambda *_, code=code, **__: code)
        result = tokgate("sim", "run", "healthy")
        assert result.exit_code == code
        assert ("not what was planted for" in result.stdout) is told


def test_a_list_of_tests_is_not_called_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokgate.cli.sim.handed_over", lambda *_, **__: 0)
    assert "ended " in tokgate("sim", "run", "healthy").stdout
    assert "ended " not in tokgate("sim", "run", "healthy", "--collect-only").stdout


def test_what_was_drawn_is_told_with_its_size_once_the_gate_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tokgate.cli.sim.handed_over", lambda *_, **__: 13)
    told = " ".join(tokgate("sim", "run", "somewhat-slow", "--sim-seed", "7").stdout.split())
    assert "drawn by seed 7: patch_ms 0.8982 of 0 to 1.5" in told
    # The model: a plain token takes 11.261 ms, and 0.898 more of them.
    assert "slower by 7.4% without speculation, by 4.4% with two steps of it" in told
    assert "kept with --sim-state FOLDER" in told
    kept = tokgate("sim", "run", "somewhat-slow", "--sim-state=/tmp/box").stdout
    assert "by seed 0" in kept
    assert "truth     /tmp/box/runs/" in kept
    assert "drawn" not in tokgate("sim", "run", "dies").stdout


def test_a_box_stands_is_broken_and_mended(box: Path) -> None:
    assert sim(box, "status").exit_code == 4  # nothing is put up by looking
    assert not box.exists()
    up = sim(box, "up")
    assert up.exit_code == 0, up.stderr
    assert f"--rig-set host.environment.SIMBOX_STATE={box}" in up.stdout
    status = sim(box, "status").stdout
    assert status.startswith("SIMULATED")
    assert "8 GPUs, 8 of them with no memory in use" in status
    broken = sim(box, "break", "leftover-no-owner", "verify_factor=1.3")
    assert broken.exit_code == 0, broken.stderr
    assert sim(box, "break", "--gpu", "6", "--mib", "500").exit_code == 0
    status = sim(box, "status").stdout
    assert "plays leftover-no-owner: 1894 MiB on GPU 3, nobody holds them" in status
    assert "verify_factor = 1.3" in status
    assert "GPU 3: 1894 MiB, nobody living" in status
    assert "GPU 6: 500 MiB, pid " in status
    assert sim(box, "mend").exit_code == 0
    status = sim(box, "status").stdout
    assert "plays nothing" in status
    assert "8 GPUs, 8 of them with no memory in use" in status


def test_what_the_box_refuses_leaves_it_as_it_was(box: Path) -> None:
    sim(box, "up", "heat")
    assert sim(box, "break", "verify_factor=1.2").exit_code == 0
    refused = sim(box, "break", "verify_facter=1.3")
    assert refused.exit_code == 4
    assert "did you mean 'verify_factor'" in refused.stderr
    outside = sim(box, "break", "verify_factor=1000")
    assert "0.1 to 100" in outside.stderr
    status = sim(box, "status").stdout
    assert "plays heat" in status
    assert "verify_factor = 1.2" in status
    assert json.loads((box / "box.json").read_text())["scenarios"][0] == "heat"


def test_another_box_is_not_put_over_one_that_stands(box: Path) -> None:
    sim(box, "up", "heat")
    result = sim(box, "up", "incident")
    assert result.exit_code == 4
    assert "tokgate sim break incident" in result.stderr
    assert sim(box, "up").exit_code == 0


def test_a_folder_that_holds_something_else_is_left_alone(box: Path) -> None:
    box.mkdir()
    (box / "mine").write_text("x")
    for words in (("up",), ("down",)):
        result = sim(box, *words)
        assert result.exit_code == 4
        assert "something else than a simulated box" in result.stderr
    assert (box / "mine").read_text() == "x"


def test_the_boxs_nvidia_smi_answers_with_its_own_exit_code(box: Path) -> None:
    sim(box, "up", "driver-mismatch")
    argv = [
        sys.executable,
        "-c",
        "from tokgate.cli.main import main; main()",
        "sim",
        "smi",
        "--state",
        str(box),
        "-L",
    ]
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 18
    assert "Driver/library version mismatch" in done.stdout
    assert "nvidia-smi ends with 18" in sim(box, "status").stdout


def test_a_server_serves_until_it_is_stopped(box: Path) -> None:
    sim(box, "up")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert sim(box, "serve", "--port", str(port)).exit_code == 4  # taken
    words = ["sim", "serve", "--state", str(box), "--arm", "baseline", "--port", str(port)]
    server = subprocess.Popen(
        [sys.executable, "-c", "from tokgate.cli.main import main; main()", *words],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert server.stdout is not None
    said = ""
    try:
        for line in server.stdout:
            said += line
            if "ready to roll" in line:
                break
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=20) as answer:
            assert json.load(answer)["simulated"]
    finally:
        os.killpg(server.pid, signal.SIGINT)
        said += server.communicate(timeout=60)[0]
    assert server.returncode == 0, said
    assert "Traceback" not in said
    assert said.startswith("SIMULATED")
    assert f"curl -s http://127.0.0.1:{port}/server_info" in said


def test_ctrl_c_while_a_server_starts_prints_no_traceback(box: Path) -> None:
    """Its processes, still loading, do not hear of it: tokgate stops them."""
    sim(box, "up")
    words = [sys.executable, "-m", "tokgate", "sim", "serve", "--state", str(box), "--arm", "baseline"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        words += ["--port", str(free.getsockname()[1])]
    server = subprocess.Popen(
        words, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert server.stdout is not None
    while line := server.stdout.readline():
        if "tokgate sim smi" in line:
            break
    os.killpg(server.pid, signal.SIGINT)
    said = server.communicate(timeout=60)[0]
    assert server.returncode == 0
    assert "Traceback" not in said


def test_an_arm_that_is_not_there_is_told_with_what_was_meant(box: Path) -> None:
    sim(box, "up")
    result = sim(box, "serve", "--arm", "eagle-2step")
    assert result.exit_code == 4
    assert '"eagle3-2step"' in result.stderr


def test_the_list_folds_to_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    told = CliRunner().invoke(main, ["sim", "list"]).stdout.splitlines()
    assert max(map(len, told)) <= 40
