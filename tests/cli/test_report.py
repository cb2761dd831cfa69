"""A run folder is data: whatever its run.json asks for, nothing but the promises is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.test_baseline import write_run
from tests.verdicts.evidence import controls
from tokgate.cli.main import main

PROMISE = "def test_promise() -> None:\n    pass\n"
OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--rejudge")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("rigs", "perf_tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = eagle3\n")
    (tmp_path / "conftest.py").write_text(OPTIONS)
    (tmp_path / "perf_tests" / "test_promise.py").write_text(PROMISE)
    (tmp_path / "stranger.py").write_text("from pathlib import Path\nPath(__file__ + '.ran').touch()\n")
    return tmp_path


def judged_again(checkout: Path, selection: str) -> Result:
    run = write_run(checkout / "run", *controls())
    told = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**told, "selection": selection}))
    return CliRunner().invoke(main, ["--root", str(checkout), "report", str(run)])


@pytest.mark.parametrize(
    "selection",
    [
        "perf_tests stranger.py",
        "perf_tests -p stranger",
        "perf_tests/../stranger.py",
        "perf_tests -c stranger.py",
        "@stranger.py perf_tests",
        "perf_tests --co",
        "perf_tests -k 'unclosed",
        "-m eagle3",
        "",
    ],
)
def test_a_selection_that_does_more_than_select_is_refused(checkout: Path, selection: str) -> None:
    result = judged_again(checkout, selection)

    assert result.exit_code == 4
    assert "is more than parts of perf_tests/" in result.stderr
    assert not (checkout / "stranger.py.ran").exists()


@pytest.mark.parametrize(
    ("selection", "code"),
    [
        ("perf_tests", 0),
        ("perf_tests/test_promise.py::test_promise -m 'not eagle3' -k promise", 0),
        ("perf_tests -m eagle3", 5),
        ("perf_tests -k '-p stranger'", 4),
    ],
)
def test_what_was_selected_is_selected_again(checkout: Path, selection: str, code: int) -> None:
    assert judged_again(checkout, selection).exit_code == code
    assert not (checkout / "stranger.py.ran").exists()
