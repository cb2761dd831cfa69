from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.stats import Stats

from tests.report import examples
from tokgate.records import RunEvidence
from tokgate.report.benchmark_json import benchmark_file, dump, stats_of
from tokgate.report.series import Series, series_of


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31])
def test_the_statistics_are_those_of_pytest_benchmark(n: int) -> None:
    dice = random.Random(n)
    seconds = [dice.lognormvariate(0, 1) for _ in range(n)]
    theirs = Stats()
    for value in seconds:
        theirs.update(value)
    ours = stats_of(seconds)
    assert ours.pop("data") == seconds
    assert ours.pop("iterations") == 1
    assert ours == pytest.approx(theirs.as_dict())


def test_an_empty_series_has_no_statistics() -> None:
    with pytest.raises(ValueError, match="no values"):
        stats_of([])


def test_each_launch_and_workload_is_one_benchmark_over_wall_seconds() -> None:
    content = benchmark_file(examples.run_evidence(), examples.rig())
    assert [b["name"] for b in content["benchmarks"]] == [
        "single[01-baseline]",
        "conc4[01-baseline]",
        "single[02-eagle3-2step]",
        "conc4[02-eagle3-2step]",
        "single[04-baseline-again]",
        "conc4[04-baseline-again]",
    ]
    arm = content["benchmarks"][2]
    # 255 tokens at 60.2 tok/s after a first token at 80 ms.
    assert arm["stats"]["median"] == pytest.approx(4.32, rel=0.01)
    assert arm["stats"]["rounds"] == 15
    extra = arm["extra_info"]
    assert (extra["tok_s"], extra["cycle_ms"]) == pytest.approx((60.2, 30.7), rel=0.01)
    assert extra["failed"] == 1
    assert len(extra["samples"]["decode_tok_s"]) == 15


def test_a_series_without_a_good_generation_is_named_and_left_out() -> None:
    evidence = examples.run_evidence()
    lost = tuple(g.model_copy(update={"end_ns": None}) for g in evidence.launches[0].generations)
    first = evidence.launches[0].model_copy(update={"generations": lost})
    content = benchmark_file(evidence.model_copy(update={"launches": (first,)}), examples.rig())
    assert content["benchmarks"] == []
    assert content["tokgate"]["omitted"] == ["single[01-baseline]", "conc4[01-baseline]"]


def test_simulated_and_real_never_share_a_table() -> None:
    groups = {
        b["group"]
        for simulated in (True, False)
        for b in benchmark_file(examples.run_evidence(simulated=simulated), examples.rig())["benchmarks"]
    }
    assert len(groups) == 4


@pytest.mark.parametrize("told_by", ["run", "rig"])
def test_the_file_itself_says_that_it_is_simulated(told_by: str) -> None:
    evidence = examples.run_evidence(simulated=told_by == "run")
    content = benchmark_file(evidence, examples.rig(simulated=told_by == "rig"))
    assert content["machine_info"]["simulated"] is True
    assert content["commit_info"]["simulated"] is True
    assert all(b["extra_info"]["simulated"] is True for b in content["benchmarks"])
    real = benchmark_file(examples.run_evidence(), examples.rig())
    assert (real["machine_info"]["simulated"], real["commit_info"]["simulated"]) == (False, False)


def compare(folder: Path, *arguments: str) -> str:
    for run in ("a", "b"):
        (folder / run).mkdir(exist_ok=True)
        content = benchmark_file(examples.run_evidence(), examples.rig())
        (folder / run / "benchmark.json").write_text(dump(content), encoding="utf-8")
    # The command beside the interpreter: the one this environment installed.
    command = [str(Path(sys.executable).with_name("pytest-benchmark")), "compare"]
    files = ["a/benchmark.json", "b/benchmark.json"]
    done = subprocess.run(
        [*command, *files, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return done.stdout


def test_the_real_command_line_tool_compares_two_of_our_files(tmp_path: Path) -> None:
    told = compare(tmp_path, "--columns=median,stddev,outliers,ops,rounds")
    assert "benchmark 'kimi-8gpu single': 6 tests" in told
    assert told.count("single[02-eagle3-2step]") == 2


def test_the_real_command_line_tool_pairs_them_by_name(tmp_path: Path) -> None:
    told = compare(tmp_path, "--between=median,ops")
    assert "3 tests, 2 sources" in told
    assert "+0.0%" in told
    assert "N/A" not in told


def test_the_real_command_line_tool_writes_csv(tmp_path: Path) -> None:
    compare(tmp_path, "--csv=table.csv")
    assert (tmp_path / "table.csv").read_text("utf-8").startswith("name,param:arm,param:launch,")


def test_the_file_is_strict_json() -> None:
    text = dump(benchmark_file(examples.run_evidence(), examples.rig()))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_samples_are_summed_up_once_however_many_launches_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(evidence: RunEvidence) -> tuple[Series, ...]:
        asked.append(evidence)
        return series_of(evidence)

    monkeypatch.setattr("tokgate.report.benchmark_json.series_of", counted)
    told = benchmark_file(examples.run_evidence(), examples.rig())
    assert len(told["benchmarks"]) > 1
    assert len(asked) == 1
