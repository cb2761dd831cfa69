"""`--help` of every command teaches: an example that would be taken, what each option is for, and 80 columns."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tokgate.cli.help import GOES_ON, pasted
from tokgate.cli.main import main

REPOSITORY = Path(__file__).parents[2]


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*path, name))


TREE = dict(commands(main))
EVERY = pytest.mark.parametrize("path", TREE, ids=lambda path: " ".join(path) or "tokgate")


def help_of(path: tuple[str, ...]) -> str:
    result = CliRunner().invoke(main, [*path, "--help"])
    assert result.exit_code == 0, result.output
    return result.stdout


def section(text: str, head: str) -> list[str]:
    """Return the commands of a section, lines that go on joined."""
    lines = text.partition(f"\n{head}:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in lines.replace(f"{GOES_ON}\n", " ").splitlines()]


def parsed(line: str) -> click.Context:
    """Parse a line of the help as the program would; click.UsageError: an option or a command is not there."""
    words = shlex.split(re.split(r" [|>]", line, maxsplit=1)[0])
    assert words.pop(0) == "tokgate"
    words = [str(REPOSITORY) if word == "../serving" else word for word in words]
    context = main.make_context("tokgate", words)
    while context._protected_args or context.args:
        group = context.command
        assert isinstance(group, click.Group), line
        rest = [*context._protected_args, *context.args]
        name, command, rest = group.resolve_command(context, rest)
        assert command is not None, line
        context = command.make_context(name, rest, parent=context)
        if not isinstance(command, click.Group):
            return context
    return context


def test_the_tree_is_looked_at() -> None:
    assert {("rig", "init"), ("sim", "run"), ("baseline", "update"), ("doctor",)} <= TREE.keys()


@EVERY
def test_it_has_examples_that_would_be_taken(path: tuple[str, ...]) -> None:
    text = help_of(path)
    examples = section(text, "Examples")
    assert examples
    for line in examples:
        parsed(line)
    assert any(
        tuple(TREE_PATH) == path or path == () or TREE_PATH[: len(path)] == path
        for TREE_PATH in map(path_of, examples)
    )


@EVERY
def test_what_to_run_next_would_be_taken(path: tuple[str, ...]) -> None:
    following = section(help_of(path), "Next")
    assert following
    for line in following:
        if line.startswith("tokgate "):
            parsed(line)


@EVERY
def test_it_fits_a_terminal(path: tuple[str, ...]) -> None:
    assert [line for line in help_of(path).splitlines() if len(line) > 80] == []


@EVERY
def test_every_option_says_what_it_is_for(path: tuple[str, ...]) -> None:
    silent = [p.name for p in TREE[path].params if isinstance(p, click.Option) and not p.help]
    assert silent == []


@EVERY
def test_the_first_line_says_what_it_is_for(path: tuple[str, ...]) -> None:
    first = (TREE[path].help or "").strip().splitlines()[0]
    assert len(first) > 20
    assert first[0].isupper()


@EVERY
def test_a_slip_in_an_option_is_told_with_what_was_meant(path: tuple[str, ...]) -> None:
    if path in (("bisect",), ("sim", "run"), ("sim", "smi")):
        pytest.skip("what it does not know goes on to another program")
    result = CliRunner().invoke(main, [*path, "--hlep"])
    assert result.exit_code == 4
    assert "--help" in result.stderr
    assert result.stderr.startswith("tried: ")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("sym",), "tokgate sim"),
        (("rig", "chek"), "tokgate rig check"),
        (("baseline", "udpate"), "tokgate baseline update"),
        (("sim", "show", "incidnet"), '"incident"'),
        (("sim", "run", "verify_slow"), '"verify-slow"'),
        (("rig", "check", "sim-8gpus"), '"sim-8gpu"'),
        (("doctor", "--rig", "sim8gpu"), '"sim-8gpu"'),
        (("rig", "show", "sim-8gpu", "--arm", "eagle-2step"), '"eagle3-2step"'),
    ],
)
def test_a_slip_in_a_name_is_told_with_what_was_meant(words: tuple[str, ...], meant: str) -> None:
    result = CliRunner().invoke(main, ["--root", str(REPOSITORY), *words], prog_name="tokgate")
    assert result.exit_code == 4
    assert meant in result.stderr


def test_alone_it_shows_the_first_hour_in_its_order() -> None:
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 0
    hour = result.stdout.partition("The first hour")[2].partition("Later:")[0]
    names = re.findall(r"^  (\w+)", hour, re.MULTILINE)
    assert names == ["sim", "rig", "doctor", "pytest", "report", "baseline"]
    listed = set(re.findall(r"^  (\w+)  ", result.stdout.partition("The first hour")[2], re.MULTILINE))
    assert set(main.list_commands(click.Context(main))) <= listed
    assert "_TOKGATE_COMPLETE=bash_source" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_each_shell_offers_names(shell: str) -> None:
    def complete(line: str) -> str:
        words = line.split(" ")
        variables = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1) if shell != "fish" else words[-1]}
        return subprocess.run(
            [sys.executable, "-c", "from tokgate.cli.main import main; main(prog_name='tokgate')"],
            env={**os.environ, "_TOKGATE_COMPLETE": f"{shell}_complete", **variables},
            cwd=REPOSITORY, capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip

    assert "kimi-k2.5-8gpu" in complete("tokgate rig show ki")
    if shell == "bash":
        assert "incident" in complete("tokgate sim run inc")
        assert "eagle3-2step" in complete("tokgate rig show sim-8gpu --arm ea")


def test_a_long_command_is_broken_as_a_shell_takes_it() -> None:
    command = 'tokgate rig init soon --gpus 8x"NVIDIA H200" --python /opt/venv/bin/python3 --model /models/t --draft /models/d'
    lines = pasted(command)
    assert len(lines) > 1
    assert max(map(len, lines)) <= 78
    joined = "\n".join(lines).replace("\\\n", " ")
    assert shlex.split(joined) == shlex.split(command)


def test_the_gates_options_of_pytest_say_what_they_are_for_with_an_example() -> None:
    text = subprocess.run(
        [sys.executable, "-m", "pytest", "--help", "perf_tests"],
        cwd=REPOSITORY, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    ours = text.partition("tokgate, the performance gate")[2].partition("\n\n")[0]
    ours += text.partition("simbox, the simulated box:")[2].partition("\n\n")[0]
    options = re.split(r"\n  (?=--)", ours)[1:]
    assert len(options) >= 6
    assert [o for o in options if "e.g." not in o] == []
    assert [line for line in ours.splitlines() if len(line) > 80] == []


def path_of(line: str) -> tuple[str, ...]:
    """Return the names of the commands that a line runs."""
    context: click.Context | None = parsed(line)
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return tuple(names)


def test_in_another_repository_the_gate_is_spelled_as_it_is_run_there(tmp_path: Path) -> None:
    (tmp_path / "rigs").mkdir()
    for words in (["doctor", "--help"], ["selftest", "--help"]):
        told = CliRunner().invoke(main, ["--root", str(tmp_path), *words]).stdout
        assert "pytest --pyargs tokgate.perf_tests -m eagle3 --rig mybox" in told
        assert "pytest perf_tests" not in told
    assert "pytest perf_tests -m eagle3 --rig mybox" in help_of(("doctor",))


def test_a_reader_that_goes_away_ends_it_as_a_shell_knows_it() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from tokgate.cli.main import main; main()", "rig", "reference"]
    try:
        ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, text=True)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")
