"""Knobs drawn at random: the causes that the report ranks are those that were turned, all of them before anything else.

No server runs: simbox' own model writes whole run folders in simulated time, and they are judged as any other.
"""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tokgate.verdicts.diagnosis import names

from .drawn_causes import EXCLUSIVE, TUNED, draw, of
from .gate_run import ROOT, closed_environment
from .generated_run import the_rig
from .judged_causes import good_days, judge, judged_file, played

QUICK = (0, 1, 2, 3, 11, 13)
ALL = range(200)
# A loss that hides below cards that were held back in every start: the clocks bound it and do not measure it.
MOST_WRONG = 4
# Each with each: shares far enough apart from nothing that both have to be found.
PAIRED = (
    names.NO_GRAPH, names.TREE, names.VERIFY, names.DRAFT, names.HOST, names.ACCEPTANCE, names.NCCL, names.BASE,
)  # fmt: skip


@pytest.fixture(scope="module")
def baselines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return good_days(tmp_path_factory.mktemp("good"))


def test_the_variables_of_the_truth_are_those_of_the_rig() -> None:
    assert the_rig().server.nccl == TUNED


def test_what_was_drawn_is_what_is_called(baselines: Path, tmp_path: Path) -> None:
    wrong = [judge(played(tmp_path / str(seed), draw(seed), baselines), draw(seed)).wrong for seed in QUICK]
    assert [w for w in wrong if w is not None] == []


def test_a_report_of_a_drawn_folder_says_the_same(baselines: Path, tmp_path: Path) -> None:
    """By the whole way: the checks, their verdicts, the files."""
    drawn = of((names.NO_GRAPH, names.TREE), random.Random(1), 1)
    folder = played(tmp_path / "run", drawn, baselines)
    said = _report(folder)
    told = judged_file(folder, drawn)
    assert told.wrong is None, said
    assert list(told.called) == [names.NO_GRAPH, names.TREE], said
    first, second = (line for line in said.splitlines() if line.startswith("cause "))
    assert first.startswith("cause 1, consistent: verify without a graph: -3")
    assert second.startswith("cause 2, consistent: tree patched: -")
    assert max(len(first), len(second)) <= 80


def _report(folder: Path) -> str:
    """Run `tokgate report` on it, as a user does."""
    command = [
        sys.executable,
        "-c",
        "from tokgate.cli.main import main; main()",
        f"--root={ROOT}",
        "report",
        str(folder),
    ]
    environment = closed_environment() | {"COLUMNS": "80"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert (folder / "verdict.json").is_file(), done.stdout + done.stderr
    return done.stdout


def _pairs() -> list[tuple[str, str]]:
    return [
        pair
        for pair in itertools.combinations(PAIRED, 2)
        if not any(set(pair) <= group for group in EXCLUSIVE)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pair", _pairs(), ids=" and ".join)
def test_of_two_causes_both_come_first(baselines: Path, tmp_path: Path, pair: tuple[str, str]) -> None:
    for seed in range(3):
        drawn = of(pair, random.Random(f"{pair}/{seed}"), 1000 + seed)
        found = judge(played(tmp_path / str(seed), drawn, baselines), drawn)
        assert found.wrong is None, found.wrong


@pytest.mark.slow
def test_two_hundred_drawn_settings_by_the_reports_own_path(baselines: Path, tmp_path: Path) -> None:
    def judged(seed: int) -> str | None:
        folder = played(tmp_path / str(seed), draw(seed), baselines)
        _report(folder)
        told = judged_file(folder, draw(seed)).wrong
        shutil.rmtree(folder)
        return told

    with ThreadPoolExecutor(2) as pool:
        wrong = [told for told in pool.map(judged, ALL) if told is not None]
    assert len(wrong) <= MOST_WRONG, "\n".join(wrong)
