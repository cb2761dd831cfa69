"""A run folder is data: whatever its run.json asks for, nothing but the promises is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.baseline_checkout import write_run
from tests.verdicts.evidence import controls
from tokgate.cli.main import main
from tokgate.cli.report import selected
from tokgate.errors import UsageError

PROMISE = """
from pathlib import Path

def test_promise(pytestconfig) -> None:
    assert pytestconfig.rootpath == Path(__file__).parents[1]
    assert pytestconfig.inipath == pytestconfig.rootpath / "pyproject.toml"
"""
OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--rejudge")
"""


@pytest.fixture(autouse=True)
def _the_checkouts_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:tokgate")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path)


def make_checkout(tmp_path: Path) -> Path:
    for folder in ("rigs", "perf_tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["eagle3"]\n')
    (tmp_path / "conftest.py").write_text(OPTIONS)
    (tmp_path / "perf_tests" / "test_promise.py").write_text(PROMISE)
    (tmp_path / "stranger.py").write_text("from pathlib import Path\nPath(__file__ + '.ran').touch()\n")
    return tmp_path


def judged_again(checkout: Path, selection: str, folder: Path | None = None) -> Result:
    run = write_run(folder or checkout / "run", *controls())
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


def test_a_run_of_another_checkout_is_judged_by_this_one(tmp_path: Path) -> None:
    here, other = make_checkout(tmp_path / "here"), make_checkout(tmp_path / "other")
    (other / "perf_tests" / "test_promise.py").write_text(
        "def test_promise() -> None:\n    raise ValueError\n"
    )
    assert judged_again(here, "perf_tests", other / "reports" / "run").exit_code == 0


def test_a_repository_may_have_no_configuration_of_pytest(checkout: Path) -> None:
    (checkout / "pyproject.toml").unlink()
    (checkout / "perf_tests" / "test_promise.py").write_text(
        PROMISE.replace('== pytestconfig.rootpath / "pyproject.toml"', "is None")
    )
    assert judged_again(checkout, "perf_tests").exit_code == 0


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ("perf_tests -m eagle3", ["--pyargs", "-meagle3", "tokgate.perf_tests"]),
        ("perf_tests/test_drift.py::test_a", ["--pyargs", "tokgate.perf_tests.test_drift::test_a"]),
        ("--pyargs tokgate.perf_tests.test_drift", ["--pyargs", "tokgate.perf_tests.test_drift"]),
    ],
)
def test_what_a_repository_has_not_is_taken_from_tokgate(
    tmp_path: Path, selection: str, words: list[str]
) -> None:
    assert selected(selection, tmp_path, tmp_path / "run") == words


@pytest.mark.parametrize("more", ["mine", "--pyargs", "tokgate.perf_testsuite", "tokgate.perf_tests.a.b"])
def test_a_module_that_is_no_promise_is_refused(tmp_path: Path, more: str) -> None:
    with pytest.raises(UsageError, match="is more than parts of"):
        selected(f"--pyargs {more}", tmp_path, tmp_path / "run")


def test_a_missing_run_is_told_what_to_do_and_not_to_name_itself(checkout: Path) -> None:
    missing = checkout / "reports" / "latest"
    result = CliRunner().invoke(main, ["--root", str(checkout), "report", str(missing)])
    assert result.exit_code == 4
    assert "found: no such folder" in result.stderr
    assert "e.g. reports/latest" not in result.stderr
    assert "run the gate first" in result.stderr
