"""Commands are found in the sentences that next steps are, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from tokgate.report.commands import commands, to_fill_in


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("measure first: pytest perf_tests -m eagle3 --rig sim-8gpu. If not", "pytest perf_tests -m eagle3 --rig sim-8gpu"),
        ("check -k: `pytest perf_tests -m eagle3` is the main job", "pytest perf_tests -m eagle3"),
        ("run it all: pytest perf_tests -m eagle3 includes the control arm", "pytest perf_tests -m eagle3"),
        ("see whose they are: ps -o pid,user,lstart,cmd -p 1,2", "ps -o pid,user,lstart,cmd -p 1,2"),
        ("end them: kill -KILL 12 13; processes that nobody can end", "kill -KILL 12 13"),
        ("restore it (git checkout -- baselines/a.json), or", "git checkout -- baselines/a.json"),
        ("tokgate baseline update kimi --why 'the first one'", "tokgate baseline update kimi --why 'the first one'"),
        ('tokgate baseline update RUN --why "…"', "tokgate baseline update 'my runs/A' --why \"…\""),
        ("grep 'Decode batch' launches/02-x/server.log", "grep 'Decode batch' 'my runs/A'/launches/02-x/server.log"),
        ("both again: pytest perf_tests -m 'eagle3 or nccl' --rig a and then", "pytest perf_tests -m 'eagle3 or nccl' --rig a"),
        ("the end: tail -n 200 launches/02-x/server.log; if", "tail -n 200 'my runs/A'/launches/02-x/server.log"),
        ("who: fuser -v /dev/nvidia*. If", "fuser -v /dev/nvidia*"),
        ("(pip install --no-deps sglang==0.5.23): then", "pip install --no-deps sglang==0.5.23"),
    ],
)  # fmt: skip
def test_a_command_is_taken_out_whole(step: str, found: str) -> None:
    assert commands(step, "my runs/A") == (found,)


@pytest.mark.parametrize(
    "step",
    [
        None,
        "make the server deterministic at temperature 0",
        "use the tokgate that wrote it",
        "free GPU 3, held by pid 4242 (python3)",
        "measure longer: --rig-set workloads.conc4.repeats=12",
        "read reports/pytest -v.txt",
    ],
)
def test_a_sentence_is_no_command(step: str | None) -> None:
    assert commands(step, "RUN") == ()


@pytest.mark.parametrize("end", ["$(id)", "`id`", "; id", "| sh", "&& id", "> /etc/passwd", "\nid", "\\\nid"])
def test_nothing_that_a_shell_would_run_is_taken_along(end: str) -> None:
    (found,) = commands(f"grep 'x' a/b.log {end}", "RUN")
    assert found == "grep 'x' a/b.log"


def test_a_command_that_is_named_twice_is_told_once() -> None:
    assert commands("ps -p 1, then again ps -p 1", "RUN") == ("ps -p 1",)


@pytest.mark.parametrize(
    ("command", "gap"),
    [
        ("tokgate compare reports/GOOD_RUN reports/A", "GOOD_RUN"),
        ('tokgate baseline update reports/A --why "…"', '"…"'),
        ("tokgate report reports/A", None),
    ],
)
def test_what_a_command_leaves_open_is_known(command: str, gap: str | None) -> None:
    assert to_fill_in(command) == gap
