"""tokgate installed from its wheel, used in a repository that has none of its files."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

import tokgate

from .built import ROOT, Repository

ALL = ("--pyargs", "tokgate.perf_tests", "-m", "eagle3")
COLLECT = ("--collect-only", "-q", "-p", "no:cacheprovider")
OURS = """
    import pytest

    from tokgate.fixtures.promises import Promises
    from tokgate.records import LaunchEvidence
    from tokgate.rig.models import Rig

    pytestmark = pytest.mark.eagle3


    def test_ours(eagle3_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises, rig: Rig) -> None:
        assert rig.name == "mybox"
        promises.acceptance_length(eagle3_launches, workload)
"""
STRICT = """
    [pytest]
    addopts = --strict-markers --strict-config
    filterwarnings = error
    tokgate_rig = mybox
"""


def with_a_rig(repository: Repository, name: str = "mybox") -> Repository:
    """Give it a rig of its own, of the shape of the one that ships."""
    text = (ROOT / "rigs" / "kimi-k2.5-8gpu.toml").read_text(encoding="utf-8")
    repository.write(
        "rigs/prompts/mixed.jsonl", (ROOT / "rigs/prompts/mixed.jsonl").read_text(encoding="utf-8")
    )
    repository.write(f"rigs/{name}.toml", text.replace('name = "kimi-k2.5-8gpu"', f'name = "{name}"'))
    return repository


def collected(ended: subprocess.CompletedProcess[str]) -> list[str]:
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [line for line in ended.stdout.splitlines() if "::" in line]


def test_an_empty_folder_has_all_promises(repository: Repository) -> None:
    tests = collected(repository.pytest(*ALL, *COLLECT))
    assert "test_cycle_time.py::test_cycle_time[single-02-eagle3-2step]" in tests
    assert len(tests) > 40
    assert tests[0].endswith("::test_clean_slate_at_the_start")
    assert tests[-1].endswith("::test_clean_slate_at_the_end")
    assert repository.environment.is_untouched()
    assert not (repository.root / "reports").exists()


def test_that_no_rig_was_named_is_told(repository: Repository) -> None:
    ended = repository.pytest(*ALL, "--collect-only", "-p", "no:cacheprovider")
    assert "tokgate: no rig is named, so sim-8gpu, which ships with tokgate; --rig NAME" in ended.stdout
    assert "SIMULATED" in ended.stdout


def test_a_repository_with_rigs_has_to_say_which(repository: Repository) -> None:
    """Never a simulated gate where a real one was meant."""
    ended = with_a_rig(repository).pytest(*ALL, *COLLECT)
    assert ended.returncode == 4
    assert "choosing a rig without --rig" in ended.stderr
    assert "mybox" in ended.stderr


def test_a_rig_and_a_promise_of_its_own_under_strict_settings(repository: Repository) -> None:
    with_a_rig(repository).write("perf_tests/test_ours.py", OURS)
    repository.write("pytest.ini", STRICT)

    alone = collected(repository.pytest("perf_tests", *COLLECT))
    assert {line.split("[")[0] for line in alone} == {"perf_tests/test_ours.py::test_ours"}
    both = collected(repository.pytest(*ALL, "perf_tests", *COLLECT))
    assert set(alone) < set(both)
    assert len(both) > 40


def test_a_promise_of_its_own_is_no_part_of_its_other_tests(repository: Repository) -> None:
    with_a_rig(repository).write("perf_tests/test_ours.py", OURS)
    repository.write("pytest.ini", STRICT)
    repository.write("tests/test_unit.py", "def test_unit() -> None: pass")

    everything = repository.pytest("-q", "-p", "no:cacheprovider")
    assert everything.returncode == 0, everything.stdout + everything.stderr
    assert re.search(r"^1 passed", everything.stdout, re.MULTILINE)
    assert "perf_tests left out; name it to measure" in everything.stdout
    unit = repository.pytest("tests", "-q", "-p", "no:cacheprovider")
    assert unit.returncode == 0
    assert "tokgate" not in unit.stdout + unit.stderr


def test_a_shipped_rig_may_be_named_anywhere_and_an_own_one_hides_it(repository: Repository) -> None:
    with_a_rig(with_a_rig(repository), "sim-8gpu")
    listed = repository.tokgate("rig", "list")
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [
        "kimi-k2.5-8gpu",
        "mybox",
        "sim-8gpu",
    ]
    assert "SIMULATED" not in listed.stdout  # its own sim-8gpu is none
    shown = repository.tokgate("rig", "show", "kimi-k2.5-8gpu")
    assert shown.returncode == 0, shown.stderr


def test_the_simulated_box_runs_and_all_that_is_written_lies_in_the_repository(
    repository: Repository,
) -> None:
    commit = repository.committed()
    code, said = repository.gate(*ALL, "-k", "clean_slate", "--rig", "sim-8gpu", "-n", "2", "-v")
    assert code == 0, said
    workers = re.findall(r"^\[gw(\d)\] .* PASSED test_clean_slate.py::", said, re.MULTILINE)
    assert len(workers) == 2
    assert len(set(workers)) == 1, "two workers would look at one host, and launch servers on it, at once"
    (run,) = (repository.root / "reports").glob("*-sim-8gpu")
    assert (run / "report.html").is_file()
    told = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert (told["tokgate_commit"], told["repository_commit"]) == (None, commit)
    assert repository.git("status", "--porcelain") == "", "a run is output, and makes no tree dirty"
    assert (repository.root / ".simbox" / "box.json").is_file()
    for folder in ("reports", ".simbox"):
        assert (repository.root / folder / ".gitignore").read_text() == "*\n"
    assert repository.environment.is_untouched()


def test_the_command_is_of_the_same_version(repository: Repository) -> None:
    assert repository.tokgate("--version").stdout == f"tokgate, version {tokgate.__version__}\n"


UNRELATED = """
    import sys


    def test_modules():
        ours = {name for name in sys.modules if name.split(".")[0] in ("tokgate", "simbox")}
        allowed = {
            "tokgate", "tokgate.fixtures", "tokgate.fixtures.entry", "tokgate.fixtures.plugins",
            "tokgate.fixtures.promise_places", "tokgate.rig", "tokgate.rig.repository",
        }
        assert ours <= allowed, sorted(ours - allowed)
        assert "tokgate.fixtures.entry" in ours
        # What makes the gate slow to load, and a plain pytest run has no need of.
        assert not {"pydantic", "numpy", "scipy", "httpx"} & set(sys.modules)
"""
THEIR_OPTIONS = """
    import pytest


    def pytest_addoption(parser):
        for option in ("--rig", "--rejudge", "--baselines", "--report-dir", "--sim-seed"):
            parser.addoption(option)


    @pytest.fixture
    def settings():
        return "theirs"
"""


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-W", "error", "--strict-markers", "--strict-config", "-n", "1"),
        ("-p", "no:html", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:junitxml"),
    ],
    ids=["plain", "strict", "without"],
)
def test_another_pytest_run_of_the_environment_is_none_of_its_business(
    repository: Repository, options: tuple[str, ...]
) -> None:
    repository.write("test_theirs.py", UNRELATED)
    ended = repository.pytest("-q", *options, "-p", "no:cacheprovider")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "tokgate" not in ended.stdout + ended.stderr


def test_names_of_another_repository_are_its_own(repository: Repository) -> None:
    """Options and fixtures by the gate's names, and a folder perf_tests/, where nothing is meant for the gate."""
    repository.write("conftest.py", THEIR_OPTIONS)
    repository.write("perf_tests/test_theirs.py", 'def test_theirs(settings): assert settings == "theirs"')
    ended = repository.pytest("perf_tests", "--rig", "x", "--sim-seed", "3", "-q", "-p", "no:cacheprovider")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "tokgate" not in ended.stdout + ended.stderr


@pytest.mark.slow
def test_types_reach_whoever_writes_a_promise(repository: Repository) -> None:
    file = repository.write("perf_tests/test_ours.py", OURS.replace("workload)", "workload, 1)"))
    ended = repository.run(
        *(str(repository.environment.python), "-m", "mypy", "--strict", "--follow-imports=silent", str(file)),
        *("--cache-dir", str(repository.root / "cache")),
    )
    errors = [line for line in ended.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, ended.stdout + ended.stderr
    assert "Too many" in errors[0]


@pytest.mark.slow
def test_a_gate_of_an_empty_repository_and_its_run_judged_again(repository: Repository) -> None:
    code, said = repository.gate(*ALL)
    latest = repository.root / "reports" / "latest"
    verdict = json.loads((latest / "verdict.json").read_text(encoding="utf-8"))
    # Beside other work a machine may be too unsteady to call: never regressed, never a fault of the bench's own making.
    assert verdict["outcome"] in {"pass", "improved", "inconclusive", "invalid"}, said
    assert code == verdict["exit_code"]
    assert (latest / "report.html").stat().st_size > 10_000
    checks = [v for v in verdict["verdicts"] if v["check"] == "stored_baseline" and v["reference"]]
    assert checks
    assert all(v["reference"]["label"].startswith("baselines/sim-8gpu/") for v in checks)
    command = verdict["run"]["command"]
    assert command.startswith("pytest --pyargs tokgate.perf_tests -m eagle3 ")
    assert (repository.root / ".simbox").is_dir()

    before = json.loads((latest / "verdicts.json").read_text(encoding="utf-8"))
    again = repository.tokgate("report", "reports/latest")
    assert again.returncode == code, again.stdout + again.stderr
    assert json.loads((latest / "verdicts.json").read_text(encoding="utf-8")) == before
    assert list(latest.glob("rejudged-*")) == []
    assert repository.environment.is_untouched()
