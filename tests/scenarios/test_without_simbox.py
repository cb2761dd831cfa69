"""The simulated box is an independent program: without it everything else still works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from simbox.scenario import known

from .gate_run import ROOT
from .rows import PLAIN_WORDS

_HEAVY = {
    ".git",
    ".venv",
    ".sglang-cpu",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "build",
}
# Some tests of each room, none of which needs a box.
SMALL = ("tests/records", "tests/verdicts/test_slate.py", "tests/rig", "tests/fixtures/test_settings.py")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of this checkout in which simbox/ never was."""
    copy = tmp_path_factory.mktemp("without") / "checkout"

    def unwanted(folder: str, names: list[str]) -> Iterable[str]:
        top = {"simbox", "reports", ".simbox"} if Path(folder) == ROOT else set()
        return [n for n in names if n in _HEAVY | top or n.endswith(".egg-info")]

    shutil.copytree(ROOT, copy, ignore=unwanted, symlinks=True)
    assert not (copy / "simbox").exists()
    return copy


def python(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SIMBOX_", "PYTHONPATH"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_every_module_of_tokgate_can_be_imported(checkout: Path) -> None:
    program = (
        "import importlib, pkgutil, sys, tokgate\n"
        "names = [m.name for m in pkgutil.walk_packages(tokgate.__path__, 'tokgate.') if m.name != 'tokgate.__main__']\n"
        "assert 'tokgate.fixtures.settings' in names and 'tokgate.perf_tests.test_clean_slate' in names\n"
        "for name in names: importlib.import_module(name)\n"
        "assert importlib.util.find_spec('simbox') is None\n"
        "print(tokgate.__file__, len(names))"
    )
    done = python(checkout, "-c", program)
    assert done.returncode == 0, done.stderr
    file, number = done.stdout.split()
    assert Path(file).is_relative_to(checkout)
    assert int(number) > 100


def test_the_gate_still_begins_and_does_not_know_the_boxs_option(checkout: Path) -> None:
    asked = (
        "-m",
        "pytest",
        "perf_tests",
        "-p",
        "no:cacheprovider",
        "--collect-only",
        "-q",
        "--rig",
        "kimi-k2.5-8gpu",
    )
    done = python(checkout, *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_stored_baseline[single-01-baseline]" in done.stdout
    refused = python(checkout, *asked, "--sim-scenario", "incident")
    assert refused.returncode == 4
    assert "--sim-scenario" in refused.stderr


def test_every_other_test_is_still_collected(checkout: Path) -> None:
    done = python(checkout, "-m", "pytest", "tests", "-p", "no:cacheprovider", "--collect-only", "-q")
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    collected = {line.split("::")[0] for line in done.stdout.splitlines() if "::" in line}
    missing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.relative_to(ROOT).as_posix() not in collected
    }
    # What plays the box may lie elsewhere and leaves itself out.
    with_the_box = (
        "tests/simbox/",
        "tests/scenarios/",
        # They play the commands of pages and of workflows on the default rig.
        "tests/docs/",
        "tests/ci/",
        "tests/benchmarks/test_smallest_loss.py",
        "tests/session/test_bit_for_bit.py",
        "tests/session/test_culprit_simulated.py",
        "tests/session/doctor/test_hosts.py",
    )
    assert {name for name in missing if not name.startswith(with_the_box)} == set()
    assert len(collected) > 100


def test_tests_of_other_rooms_pass(checkout: Path) -> None:
    there = [name for name in SMALL if (checkout / name).exists()]
    assert len(there) > 1
    done = python(
        checkout, "-m", "pytest", *there, "-p", "no:cacheprovider", "-q", "-m", "not slow and not gpu"
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_the_command_that_plays_with_the_box_says_that_it_is_not_there(checkout: Path) -> None:
    program = "from tokgate.cli.main import main; main()"
    for words in (["sim", "list"], ["sim", "run", "healthy"], ["sim", "up"]):
        done = python(checkout, "-c", program, *words)
        assert done.returncode == 4, done.stderr
        assert "found: no simbox/ in" in done.stderr
        assert "Traceback" not in done.stderr


def _sources() -> list[Path]:
    """Return the files of the gate; `tokgate sim`, which plays with the box and measures nothing, is none of it."""
    found = [
        path
        for top in ("tokgate", "fixtures", "perf_tests")
        for path in sorted((ROOT / top).rglob("*"))
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.relative_to(ROOT).as_posix().startswith("tokgate/cli/sim")
    ]
    assert len(found) > 150
    return found


def test_nothing_of_the_gate_names_the_box() -> None:
    """The label rig.simulated is all that it knows; who simulates is none of its business."""
    telling = re.compile(r"simbox|sim[-_]scenario|sim[-_]state|sim[-_]seed", re.IGNORECASE)
    told = [p for p in _sources() if telling.search(p.read_text(encoding="utf-8", errors="replace"))]
    assert told == []


def test_nothing_of_the_gate_names_a_scenario() -> None:
    names = set(known()) - PLAIN_WORDS
    assert len(names) > 30
    telling = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    told = {
        f"{path.relative_to(ROOT)}: {found[1]}"
        for path in _sources()
        if (found := telling.search(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert told == set()


def test_what_does_the_work_does_not_ask_whether_it_is_simulated() -> None:
    """The label is compared with other labels, printed, and part of the identity; nothing is done otherwise for it.

    But by two that measure and judge nothing: the doctor, which does not ask for what no simulated host has, models and Python
    packages say, and what reckons how long a first session takes.
    """
    working = ("hosts", "client", "server", "session", "parsers", "stats", "verdicts/checks")
    deciding = re.compile(r"\b(?:if|elif|while|and|or|not)\b[^#\n]*\.simulated\b")
    comparing = re.compile(r"\.simulated [!=]= ")
    told = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in _sources()
        if path.suffix == ".py"
        and path.relative_to(ROOT).as_posix().startswith(tuple(f"tokgate/{w}/" for w in working))
        and "doctor" not in path.parts
        and path.relative_to(ROOT).as_posix() != "tokgate/session/usual.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if deciding.search(line) and not comparing.search(line)
    ]
    assert told == []
