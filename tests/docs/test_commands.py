"""Every command in README and docs/ is run, or read as it would be; what cannot be either is said with its reason."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tokgate.cli.main import main

from .kinds import KINDS, kind_of, words_of
from .pages import ROOT, Command, commands, fenced, in_text
from .scratch import edit, make_checkout

BLOCKS = commands()
EVERY = (*BLOCKS, *in_text())
# Words that stand for something of the reader's.
STANDS_FOR = {
    "RUN": "reports/latest", "RUN…": "reports/latest", "RIG": "sim-8gpu", "R": "sim-8gpu", "RUN_A": "reports/A", "RUN_B": "reports/B",
    "A": "reports/A", "B": "reports/B", "FOLDER": ".", "NAME": "sim-8gpu", "…": "a reason",
}  # fmt: skip
# Commands whose exit code is an answer: there are warnings, and none of them keeps a shipped rig from running.
ANSWERS = {"rig check --strict": (0, 4)}


def of_kind(how: str, among: tuple[Command, ...] = EVERY) -> list[Command]:
    """Return each command once, wherever it stands."""
    found = {c.text: c for c in among if (kind := kind_of(c)) is not None and kind.how == how}
    return list(found.values())


def test_there_are_commands_of_every_page_that_shows_any() -> None:
    pages = Counter(command.page for command in BLOCKS)
    assert pages["README.md"] >= 2
    assert pages["docs/quick-start.md"] > 10
    assert pages["docs/incident.md"] >= 8
    assert sum(pages.values()) > 60


def test_what_is_done_with_each_is_known() -> None:
    unknown = [str(command) for command in EVERY if kind_of(command) is None]
    assert not unknown, "classify in tests/docs/kinds.py:\n" + "\n".join(unknown)


def test_what_is_not_done_has_its_reason() -> None:
    assert all(kind.why for kind in KINDS if kind.how != "executed")


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    tutorial = (ROOT / "docs" / "writing-perf-tests.md").read_text(encoding="utf-8")
    folder = make_checkout(tmp_path_factory.mktemp("docs"), tutorial=lambda: fenced(tutorial, "python")[0])
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def test_those_that_need_no_gpu_run(checkout: Path) -> None:
    """In the order of a reader: what looks first, then what stores, each kind of page from the start."""
    ordered = sorted(of_kind("executed"), key=lambda c: _stores(c.text))
    assert len(ordered) > 25
    failed, done = [], set()
    # Those that draw on stored sessions alone run beside the others: two processors are there.
    beside: list[tuple[Command, subprocess.Popen[str]]] = []
    for command in ordered:
        words = [STANDS_FOR.get(word, word) for word in words_of(command)]
        told_why = words.index("--why") if "--why" in words else len(words)
        if (asked := (command.program, *words[:told_why])) in done:
            continue
        done.add(asked)
        if words[:2] == ["baseline", "show"]:
            words[2:] = ["sim-8gpu"]  # nothing is stored of mybox here
        if "--append" in words:
            words = [word.replace("latest", "A") for word in words]  # of another day
        elif _stores(command.text):
            # As on a box of one's own: what is shipped for the simulated one is in nobody's way.
            shutil.rmtree(checkout / "baselines" / "sim-8gpu", ignore_errors=True)
        if command.program == "pytest-benchmark":
            beside.append((command, _started(command, words, checkout)))
            continue
        code, said = _executed(command, words, checkout)
        if words[-1] == "rigs/mybox.toml":
            edit(checkout)  # "then edit"
        if code not in ANSWERS.get(" ".join(words), (0,)):
            failed.append(f"{command}\n  exit code {code}: {said[-600:]}")
    for command, process in beside:
        said, _ = process.communicate()
        if process.returncode:
            failed.append(f"{command}\n  exit code {process.returncode}: {said[-600:]}")
    assert not failed, "\n".join(failed)


def _stores(text: str) -> int:
    return 2 if "baseline update" in text else 1 if "baseline propose" in text else 0


def _executed(command: Command, words: list[str], checkout: Path) -> tuple[int, str]:
    if command.program == "tokgate":
        if words in (
            ["report"],
            ["compare"],
            ["history"],
            ["baseline"],
            *(["baseline", w] for w in _PARTS),
            ["rig", "show"],
        ):
            words = [*words, "--help"]  # a name in running text
        result = CliRunner().invoke(main, words, standalone_mode=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise AssertionError(f"{command} ended in {result.exception!r}") from result.exception
        return result.exit_code, result.output
    process = _started(command, words, checkout)
    said, _ = process.communicate()
    return process.returncode, said


def _started(command: Command, words: list[str], checkout: Path) -> subprocess.Popen[str]:
    if command.program == "pytest-benchmark" and words == ["compare"]:
        words = ["compare", "--help"]
    program = shutil.which(command.program, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert program is not None, command
    return subprocess.Popen(
        (program, *words), cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


_PARTS = ("propose", "update", "show", "diff")


@pytest.mark.parametrize("command", of_kind("parsed"), ids=lambda c: c.text)
def test_tokgate_knows_the_command_and_its_options(command: Command) -> None:
    words = [word for word in words_of(command) if word != "…"]
    context, group = click.Context(main, info_name="tokgate"), main
    node: click.Command = main
    while words and isinstance(node, click.Group):
        if words[0].startswith("-"):
            node.make_parser(context).parse_args(words[:2])
            words = words[2:]
            continue
        found = node.get_command(context, words[0])
        assert found is not None, f"{command}: no command {words[0]}"
        node, words = found, words[1:]
        context = click.Context(node, parent=context, info_name=node.name, **node.context_settings)
    assert group is main
    if words:
        _, rest, _ = node.make_parser(context).parse_args(list(words))
        positional = [p for p in node.params if isinstance(p, click.Argument)]
        assert len(rest) <= len(positional) or any(p.nargs == -1 for p in positional), command


def test_pytest_collects_what_the_commands_select(checkout: Path) -> None:
    """A Python for each half of them: what is asked is whether options are known and tests are selected."""
    asked: dict[tuple[str, ...], str] = {}
    for command in of_kind("collected"):
        words = [STANDS_FOR.get(word, word) for word in words_of(command) if word not in ("--", "…")]
        words = [re.sub(r"(?<=--rejudge=)RUN$", "reports/latest", word) for word in words]
        if "--sim-state" in words:
            words[words.index("--sim-state") + 1] = str(checkout / "box")
        elif "--sim-scenario" in words:  # a box is put up for each: one of them is enough
            at = words.index("--sim-scenario")
            for name in words.pop(at + 1).split(","):
                assert (ROOT / "simbox" / "scenarios" / f"{name}.toml").is_file(), command
            del words[at]
        if any(word in ("perf_tests", "--pyargs") or word.startswith("perf_tests/") for word in words):
            asked.setdefault(tuple(words), str(command))
    assert len(asked) > 12
    driver = (
        "import json, sys, pytest\n"
        "for words, name in json.load(sys.stdin):\n"
        "    code = pytest.main([*words, '--collect-only', '-qq', '-p', 'no:cacheprovider'])\n"
        "    print(json.dumps(['collected', name, int(code)]), file=sys.stderr, flush=True)\n"
    )
    every = list(asked.items())

    def collect(half: list[tuple[tuple[str, ...], str]]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (sys.executable, "-c", driver),
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            input=json.dumps(half),
            capture_output=True,
            text=True,
            check=False,
        )

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(collect, (every[::2], every[1::2])))
    said = "".join(one.stderr for one in ended)
    told = [json.loads(line) for line in said.splitlines() if line.startswith('["collected"')]
    shown = "".join(one.stdout[-3000:] for one in ended)
    assert len(told) == len(asked), shown + said[-1500:]
    assert [(name, code) for _, name, code in told if code] == [], shown
    assert not list((checkout / "reports").glob("20*")), "collecting made a run folder"


@pytest.mark.parametrize("command", of_kind("tests"), ids=lambda c: c.text)
def test_the_tests_and_markers_are_there(command: Command, pytestconfig: pytest.Config) -> None:
    words = words_of(command)
    known = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    for word in words:
        assert not word.startswith("tests") or (ROOT / word).exists(), command
    if "-m" in words:
        asked = set(re.findall(r"\w+", words[words.index("-m") + 1])) - {"not", "and", "or"}
        assert asked <= known, command


@pytest.mark.parametrize("command", of_kind("made"), ids=lambda c: c.text)
def test_make_knows_the_target_and_the_variables(command: Command) -> None:
    words = words_of(command)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable:
            assert re.search(rf"\$\({name}\)|^{name} [:?]?=", makefile, re.MULTILINE), command
        else:
            assert name in targets[1].split(), command


@pytest.mark.parametrize("command", of_kind("there"), ids=lambda c: c.text)
def test_the_program_is_there_and_knows_the_options(command: Command) -> None:
    words = words_of(command)
    if command.program == "run.sh":
        source = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "gpu-host").glob("*.[ps]*"))
        options = words[: words.index("--")] if "--" in words else words
    else:
        module = words[1] if words[0] == "-m" else None
        place = ROOT / (module.replace(".", "/") if module else words[0])
        files = [f for f in (place, place.with_suffix(".py"), place / "__main__.py") if f.is_file()]
        assert files, f"{command}: {place} is not there"
        source = "".join(f.read_text(encoding="utf-8") for f in (*files, *files[0].parent.glob("*.py")))
        options = words[1:]
    for option in (word.partition("=")[0] for word in options if word.startswith("--")):
        assert f'"{option}"' in source or shlex.quote(option) in source, f"{command}: no {option}"
