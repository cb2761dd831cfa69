"""Whose leftovers they are: to end a process by hand is advised only where nobody can still need it."""

from __future__ import annotations

import pytest

from tokgate.hosts.leftovers import judge_processes
from tokgate.records import ProcessSeen

MARK = "run-1/02-eagle3"


def seen(
    pid: int, ppid: int, sid: int, *, mark: str | None = None, cmdline: str = "python", comm: str = "python"
) -> ProcessSeen:
    return ProcessSeen(
        pid=pid,
        start_ticks=pid,
        ppid=ppid,
        pgid=sid,
        sid=sid,
        state="S",
        comm=comm,
        cmdline=cmdline,
        mark=mark,
    )


def advice(*table: ProcessSeen) -> str:
    left = tuple(p for p in table if p.mark is not None)
    (finding,) = judge_processes(table, left, None, frozenset(), cpu_rig=False)
    assert finding.do is not None
    return finding.do


@pytest.mark.parametrize(
    "leader", [True, False], ids=["at a terminal", "sent to the background, its shell has ended"]
)
def test_a_living_gate_is_waited_for(leader: bool) -> None:
    shell = [seen(10, 1, 10, comm="bash", cmdline="bash")] if leader else []
    gate = seen(20, 10 if leader else 1, 10, cmdline="pytest perf_tests -m eagle3")
    do = advice(*shell, gate, seen(30, 20, 10, mark=MARK))
    assert "pid 20 of " in do
    assert "kill" not in do


@pytest.mark.parametrize("leader", [True, False], ids=["the server lives", "only its ranks live"])
def test_a_rank_that_has_lost_its_mark_belongs_to_the_server(leader: bool) -> None:
    server = [seen(30, 1, 30, mark=MARK)] if leader else []
    rank = seen(40, 30 if leader else 1, 30, cmdline="sglang::scheduler_TP0", comm="sglang::schedul")
    do = advice(*server, rank, seen(50, 40, 30, mark=MARK))
    assert "kill -KILL" in do
