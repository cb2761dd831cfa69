"""What becomes of each documented command in a test. One that no line here knows makes a test fail: classify it."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from .pages import Command


class Kind(NamedTuple):
    pattern: str  # of the whole command, searched
    how: str  # what is done with it: a name of test_commands.py
    why: str = ""  # why no more than that


# The first that fits counts.
KINDS = (
    # Really run, in a scratch copy of the checkout with runs in it.
    Kind(r"tokgate rig (list|show|check|schema|reference)\b", "executed"),
    Kind(r"tokgate (history|report|compare)\b", "executed"),
    Kind(r"tokgate baseline( (propose|update|show|diff)\b|$)", "executed"),
    Kind(r"^pytest-benchmark compare .*--histogram", "not here", "draws with a library that is not installed"),
    Kind(r"^pytest-benchmark compare", "executed"),
    Kind(r"^cp rigs/", "executed"),
    # Command lines that are read as they would be, up to where a server or a host would be needed.
    Kind(r"\bpytest --fixtures", "not here", "test_fixtures_table.py runs it"),
    Kind(r"\bpytest (perf_tests\b|--pyargs|-- )", "collected", "launches servers; tests/scenarios and tests/gate play them"),
    Kind(r"\bpytest tests\b", "tests", "the tests themselves: paths and markers are looked up"),
    Kind(r"^(git|tokgate) bisect\b", "not here", "tests/cli/test_bisect.py runs it"),
    Kind(r"\btokgate --root\b", "parsed", "of another checkout"),
    Kind(r"\btokgate (selftest|doctor|sim|rig init)\b", "parsed", "launches servers, or asks a host"),
    Kind(r"^make\b", "made", "installs, builds or runs a gate: make itself says what it would do"),
    Kind(r"\bpython3? (-m )?(benchmarks|simbox|tokgate|tests)\b", "there", "a benchmark of minutes, or a program with tests of its own"),
    Kind(r"run\.sh\b", "there", "runs on a GPU host: tests/gpu_host"),
    # Nothing of this project.
    Kind(r"^(sbatch|srun)\b", "not here", "needs Slurm"),
    Kind(r"^nvidia-smi\b", "not here", "needs a GPU; it is what the gate calls"),
    Kind(r"^pip (install|wheel)\b", "not here", "asks a package registry"),
    Kind(r"^(git apply|git -C \S+ fetch|git log|git clone|git commit|git switch|git checkout|git diff|cd)\b", "not here", "git's and the shell's own"),
    Kind(r"^python -m MODULE$", "not here", "says how a module is started"),
    Kind(r"^python -m venv\b", "not here", "Python's own"),
)  # fmt: skip


def kind_of(command: Command) -> Kind | None:
    """Return the first kind that fits, programs told by their bare names."""
    first, *more = command.text.split(" ", 1)
    text = " ".join([first.rpartition("/")[2] if first.startswith(".venv/") else first, *more])
    return next((kind for kind in KINDS if re.search(kind.pattern, text)), None)


def words_of(command: Command) -> list[str]:
    """Return the words behind the program, without what a shell or a manual adds: `|| …`, `&`, `> FILE`, `[--rig NAME]`."""
    text = re.sub(r"\s*(\|\||&|>).*$", "", command.text)
    text = re.sub(r"\s*\[[^\]]*\]", "", text)
    return shlex.split(text)[1:]
