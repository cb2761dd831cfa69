"""`tokgate doctor` as a person and as a program meet it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokgate.cli.main import main
from tokgate.records.doctor import Examination
from tokgate.session.doctor.checks import CHECKS

ROOT = Path(__file__).parents[2]
AWAY = ("--rig", "sglang-cpu", "--quick", "--rig-set", "host.testinfra=ssh://nobody@127.0.0.1:1")


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["--root", str(ROOT), "doctor", *arguments])


def test_a_host_that_is_away_is_one_failure_with_its_remedy() -> None:
    result = doctor(*AWAY)
    assert result.exit_code == 11
    assert "nothing accepts ssh connections there" in result.stdout
    assert "do     start sshd on the host, or correct the port in host.testinfra" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last == (
        "next: mend the last one above, then tokgate doctor --rig sglang-cpu --rig-set "
        "host.testinfra=ssh://nobody@127.0.0.1:1"
    )
    assert result.stdout.count("cannot be used") <= 8  # once a group, not once a check


def test_json_is_one_object_with_every_answer(tmp_path: Path) -> None:
    result = doctor(*AWAY, "--json", "--report-dir", str(tmp_path))
    assert result.exit_code == 11
    found = Examination.model_validate(json.loads(result.stdout))
    assert (found.rig, found.quick) == ("sglang-cpu", True)
    asked = {c.name for c in CHECKS if c.quick and c.applies.__name__ in ("always", "behind_ssh")}
    assert {r.check for r in found.results} == asked == found.check_seconds.keys()


def test_a_rig_that_is_wrong_is_a_usage_error() -> None:
    result = doctor("--rig", "sglang-cpu", "--rig-set", "gpus.count=-1")
    assert result.exit_code == 4
    assert result.stdout == ""
    assert "gpus.count" in result.stderr


def test_without_a_rig_it_says_how_to_name_one() -> None:
    result = doctor()
    assert result.exit_code == 4
    assert "tokgate rig list" in result.stderr


def test_the_list_names_every_check_and_makes_none() -> None:
    result = doctor("--list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [check.name for check in CHECKS]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_whatever_ends_it_the_cursor_is_shown_again(number: signal.Signals, tmp_path: Path) -> None:
    hang = tmp_path / "nvidia-smi"
    hang.write_text("#!/bin/sh\nexec sleep 60\n")
    hang.chmod(0o755)
    words = ["doctor", "--rig", "kimi-k2.5-8gpu", "--quick", "--rig-set", f'host.path=["{tmp_path}"]',
             "--rig-set", "gpus.reader=nvidia-smi", "--rig-set", f"host.work_dir={tmp_path}"]  # fmt: skip
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.environ.pop("CI", None)
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", "from tokgate.cli.main import main; main()", *words])
    said = b""
    while b"checks made" not in said:
        said += os.read(terminal, 4096)
    os.kill(pid, number)
    with contextlib.suppress(OSError):  # the end of a terminal's other side is an error
        while more := os.read(terminal, 4096):
            said += more
    os.waitpid(pid, 0)
    os.close(terminal)
    assert said.rfind(b"\x1b[?25h") > said.rfind(b"\x1b[?25l") >= 0
