"""Per process and variable: what was wanted against what the kernel shows, erased evidence included."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.server.bench import Bench
from tokgate.records import EnvironmentTruth, ProcessSeen, VariableState
from tokgate.server.environment import name_of, prove_environment


def states(truth: EnvironmentTruth, variable: str) -> dict[str, VariableState]:
    return {row.process: row.state for row in truth.rows if row.variable == variable}


def test_what_was_wanted_is_found_in_every_process(bench_anywhere: Bench) -> None:
    running = bench_anywhere.start()
    wanted = dict(running.run.line.environment)
    truth = running.prove_environment(wanted)
    assert {"NCCL_ALGO", "TOKGATE_MARK", "SPT_NOENV", "PYTHONPATH"} <= set(wanted)
    assert {row.state for row in truth.rows} == {VariableState.PRESENT}
    assert states(truth, "NCCL_ALGO") == {
        "main": VariableState.PRESENT,
        "scheduler TP0": VariableState.PRESENT,
    }
    assert truth.strays == {}
    assert truth.unread == ()
    # The stand-in says that it is 0.5.23; of that version it is known what it sets itself.
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in truth.overwritten


def test_a_wrong_and_a_missing_variable_are_told_apart(bench: Bench) -> None:
    running = bench.start()
    truth = running.prove_environment({"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL"})
    assert set(states(truth, "NCCL_ALGO").values()) == {VariableState.DIFFERENT}
    assert {row.found for row in truth.rows if row.variable == "NCCL_ALGO"} == {"Ring"}
    assert set(states(truth, "NCCL_PROTO").values()) == {VariableState.ABSENT}


def test_erased_evidence_is_never_an_absent_variable(bench: Bench) -> None:
    """The incident: with the workers' environment overwritten, every variable looked as if it had been lost."""
    running = bench.start("erase")
    truth = running.prove_environment({"NCCL_ALGO": "Ring", "NCCL_NEVER": "1"})
    # Both look the same there, so neither may be called absent; the worker that was not erased still tells.
    assert states(truth, "NCCL_ALGO")["main"] is VariableState.ERASED
    assert states(truth, "NCCL_NEVER")["main"] is VariableState.ERASED
    assert states(truth, "NCCL_ALGO")["scheduler TP0"] is VariableState.PRESENT
    assert states(truth, "NCCL_NEVER")["scheduler TP0"] is VariableState.ABSENT
    assert "main" in truth.unread[0].text
    assert "setproctitle" in truth.unread[0].why


def test_a_wrapper_that_sneaks_something_in_is_named(bench: Bench, tmp_path: Path) -> None:
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexport SNEAKED_IN=1\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    running = bench.start(server={"python": str(wrapper)})
    truth = running.prove_environment({})
    assert truth.strays == {"SNEAKED_IN": "1"}
    assert truth.rows == ()


def test_the_callers_shell_does_not_leak_in(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    running = bench.start()
    truth = running.prove_environment({"NCCL_DEBUG": "INFO", "CUDA_VISIBLE_DEVICES": "0,1"})
    assert set(states(truth, "NCCL_DEBUG").values()) == {VariableState.ABSENT}
    assert set(states(truth, "CUDA_VISIBLE_DEVICES").values()) == {VariableState.PRESENT}
    assert running.run.passed["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_an_environment_without_our_mark_proves_no_absence(bench: Bench) -> None:
    running = bench.start()
    other = running.run.model_copy(update={"mark": "another/01-mark"})
    truth = prove_environment(bench.host, other, {"NCCL_PROTO": "LL"})
    # Without the mark that everything of ours carries, it may not be the whole environment.
    assert {row.state for row in truth.rows} == {VariableState.ERASED}


@pytest.mark.parametrize(
    ("comm", "cmdline", "name"),
    [
        ("sglang::schedul", "sglang::scheduler_TP0", "scheduler TP0"),
        ("sglang::schedul", "sglang::scheduler_DP1_TP3_EP3", "scheduler DP1 TP3 EP3"),
        ("sglang::schedul", "sglang::scheduler", "scheduler"),
        ("sglang::schedul", "", "scheduler"),
        ("sglang::detoken", "sglang::detokenizer", "detokenizer"),
        ("sglang::detoken", "", "detokenizer"),
        (
            "python3",
            "python3 -c from multiprocessing.resource_tracker import main;main(5)",
            "resource tracker",
        ),
        ("python3", "python3 -c from multiprocessing.spawn import spawn_main", "python3"),
        ("sglang::", "sglang::", "?"),
        ("nvcc", "", "nvcc"),
    ],
)
def test_names(comm: str, cmdline: str, name: str) -> None:
    process = ProcessSeen(pid=1, start_ticks=1, ppid=0, pgid=1, sid=1, state="S", comm=comm, cmdline=cmdline)
    assert name_of(process) == name
