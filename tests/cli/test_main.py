"""What all commands have in common: the checkout they work on, and how errors leave the program."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tokgate
from tokgate.cli.checkout import find_checkout
from tokgate.cli.errors import GateGroup
from tokgate.cli.main import main
from tokgate.errors import BaselineError, GateError, HostFault, RigError, UsageError


@pytest.mark.parametrize(
    ("kind", "code"), [(UsageError, 4), (RigError, 4), (BaselineError, 4), (HostFault, 11), (GateError, 11)]
)
def test_errors_become_text_and_an_exit_code(kind: type[GateError], code: int) -> None:
    @click.group(cls=GateGroup)
    def program() -> None:
        pass

    @program.command()
    def fail() -> None:
        raise kind(tried="lift a stone", found="it is heavy", do="ask for help")

    result = CliRunner().invoke(program, ["fail"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr == "tried: lift a stone\nfound: it is heavy\ndo:    ask for help\n"


def test_the_checkout_is_the_nearest_folder_with_rigs(tmp_path: Path) -> None:
    (tmp_path / "rigs").mkdir()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_checkout(below) == tmp_path


def test_a_repository_that_names_tokgate_needs_no_rigs(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tokgate]\ndefault_rig = "sim-8gpu"\n')
    below = tmp_path / "a"
    below.mkdir()
    assert find_checkout(below) == tmp_path


def test_the_search_ends_where_the_git_repository_does(tmp_path: Path) -> None:
    (tmp_path / "rigs").mkdir()
    below = tmp_path / "work" / "a"
    below.mkdir(parents=True)
    (tmp_path / "work" / ".git").mkdir()
    assert find_checkout(below) == tmp_path / "work"


def test_elsewhere_it_is_the_folder_itself(tmp_path: Path) -> None:
    assert find_checkout(tmp_path) == tmp_path


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"tokgate, version {tokgate.__version__}\n")


def test_a_root_that_is_no_folder_is_refused() -> None:
    result = CliRunner().invoke(main, ["--root", "/nowhere", "rig", "list"])
    assert result.exit_code == 4
    assert "/nowhere" in result.stderr
    assert result.stderr.startswith("tried: ")


def test_a_repository_without_rigs_has_those_that_ship(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--root", str(tmp_path), "rig", "show", "x"])
    assert result.exit_code == 4
    assert "kimi-k2.5-8gpu, sglang-cpu, sim-8gpu\n" in result.stderr


def test_nobody_waits_for_statistics_that_nothing_asks_for() -> None:
    """Together they take longer to be loaded than all the rest, and a gate starts Python many times.

    Nor does a command wait for what others of its kind load.
    """
    program = (
        "import sys, click; from tokgate.cli.main import main\n"
        "context = click.Context(main)\n"
        "early = [name for name in ('httpx', 'numpy', 'tokgate.session') if name in sys.modules]\n"
        "for name in main.list_commands(context): main.get_command(context, name)\n"
        "import tokgate.fixtures.report, tokgate.fixtures.sampling\n"
        "print(*early, *(n for n in ('ruptures', 'scipy.special', 'scipy.stats') if n in sys.modules))"
    )
    checkout = Path(__file__).parents[2]
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout
    assert said.split() == []


def test_a_disk_that_is_full_is_told_without_a_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-c", "from tokgate.cli.main import main; main()", "doctor", "--list"]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr.startswith("tried: ")
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_of_another_encoding_gets_what_it_can_show() -> None:
    argv = [sys.executable, "-c", "from tokgate.cli.main import main; main()", "rig", "reference"]
    done = subprocess.run(
        argv, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u2026" in done.stdout  # an ellipsis, which Latin-1 has not


def test_a_python_that_is_named_runs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tokgate", "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"tokgate, version {tokgate.__version__}\n"


def test_streams_that_a_shell_has_closed_take_nothing_and_break_nothing(tmp_path: Path) -> None:
    """`tokgate … >&-`: Python has no such stream then, and the next file gets its number."""
    words = [sys.executable, "-m", "tokgate", "--root", str(tmp_path), "rig", "show", "sim-8gpu"]
    line = f"{shlex.join(words)} >&- && {shlex.join(words)} 2>&- | grep -c simulated"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0


def test_ctrl_c_while_it_loads_ends_it_without_a_word() -> None:
    program = (
        "import os, signal\nfrom tokgate.cli.start import loading\n"
        "with loading():\n    os.kill(os.getpid(), signal.SIGINT)\nprint('went on')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_in_a_command_ends_it_as_a_shell_expects() -> None:
    @click.group(cls=GateGroup)
    def program() -> None:
        pass

    @program.command()
    def wait() -> None:
        raise KeyboardInterrupt

    result = CliRunner().invoke(program, ["wait"])
    assert (result.exit_code, result.output) == (130, "")
