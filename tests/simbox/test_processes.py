"""The process tree lives and dies as SGLang's does, and its environment is the real thing."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from pathlib import Path

import pytest

from simbox import ledger

from .serving import EAGLE3, TUNED, Serving, launched, serving

TP2 = ("--tp-size", "2")
MARK = "SOME_MARK"


def environ(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def test_titles_are_sglangs(tmp_path: Path) -> None:
    with serving(tmp_path, *TP2) as server:
        children = server.children()
        titles = {name for name in children if name.startswith("sglang::")}
        assert titles == {"sglang::scheduler_TP0", "sglang::scheduler_TP1", "sglang::detokenizer"}
        assert sum("multiprocessing.resource_tracker" in name for name in children) == 1
        comm = Path(f"/proc/{children['sglang::scheduler_TP0']}/comm").read_text().strip()
        assert comm == "sglang::schedul"


def test_one_rank_has_no_number(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert "sglang::scheduler" in server.children()


@pytest.mark.parametrize("kept", [False, True])
def test_setproctitle_erases_the_environment_unless_told_not_to(tmp_path: Path, kept: bool) -> None:
    told = {MARK: "here"} | ({"SPT_NOENV": "1"} if kept else {})
    with serving(tmp_path, *TP2, **TUNED, **told) as server:
        rank = environ(server.children()["sglang::scheduler_TP1"])
        assert (b"NCCL_PROTO=LL" in rank) == kept
        assert (f"{MARK}=here".encode() in rank) == kept
        assert b"NCCL_PROTO=LL" in environ(server.process.pid)
        # What the server itself adds stays in the children's environment in any case, and is not in main's.
        assert b"NCCL_CUMEM_ENABLE=0" in rank
        assert b"CUDA_DEVICE_MAX_CONNECTIONS=8" in rank
        assert b"NCCL_CUMEM_ENABLE" not in environ(server.process.pid)
        # Erased or not, the ranks had it, and the model saw it.
        assert all(r["nccl"]["NCCL_PROTO"] == "LL" for r in server.truth("start")[0]["ranks"])


def test_variables_dropped_on_their_way_are_missing_in_the_ranks_alone(tmp_path: Path) -> None:
    knobs = 'nccl_dropped = ["NCCL_PROTO"]\nnccl_wrong = ["NCCL_ALGO=Tree"]\nnccl_ranks = [1]\n'
    with serving(tmp_path, *TP2, knobs=knobs, SPT_NOENV="1", **TUNED) as server:
        children = server.children()
        assert b"NCCL_PROTO=LL" in environ(server.process.pid)
        assert b"NCCL_PROTO=LL" in environ(children["sglang::scheduler_TP0"])
        spoiled = environ(children["sglang::scheduler_TP1"])
        assert b"NCCL_PROTO" not in spoiled
        assert b"NCCL_ALGO=Tree" in spoiled
        costs = {r["rank"]: r["extra_us"] for r in server.truth("start")[0]["ranks"]}
        assert costs[0] == 0.0 < costs[1]


def test_killing_main_kills_everything_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, *TP2) as server:
        children = server.children()
        ends = select.poll()
        for pid in children.values():
            ends.register(os.pidfd_open(pid), select.POLLIN)
        os.kill(server.process.pid, signal.SIGKILL)
        begun, left = time.monotonic(), len(children)
        while left and time.monotonic() < begun + 5.0:
            for descriptor, _ in ends.poll(5000):
                ends.unregister(descriptor)
                os.close(descriptor)
                left -= 1
        assert left == 0
        server.await_line("(end of output)")


def test_sigterm_lets_running_requests_finish(tmp_path: Path) -> None:
    with serving(tmp_path) as server, server.streaming("long", tokens=60) as events:
        next(events)
        os.kill(server.process.pid, signal.SIGTERM)
        server.await_line("Remaining number of requests 1")
        *_, last, end = events
        assert json.loads(last)["meta_info"]["completion_tokens"] == 60
        assert end == "[DONE]"
        assert server.process.wait(20) == 0
        server.await_line("Remaining number of requests 0")


def test_sigterm_can_be_ignored(tmp_path: Path) -> None:
    with serving(tmp_path, knobs="ignore_term = true\n") as server:
        os.kill(server.process.pid, signal.SIGTERM)
        server.await_line("SIGTERM received")
        assert server.generate()["meta_info"]["completion_tokens"] == 8


def test_a_dead_rank_ends_the_server(tmp_path: Path) -> None:
    with serving(tmp_path, *TP2, scenarios=["dies"], knobs="die_at_request = 2\n") as server:
        server.generate()
        with pytest.raises((ConnectionError, OSError)):
            server.generate()
        server.await_line("crashed with exit code -9. Triggering SIGQUIT for cleanup...")
        assert server.process.wait(20) == -9


def test_a_leaked_rank_outlives_the_server_and_keeps_its_memory(tmp_path: Path) -> None:
    with serving(tmp_path, *TP2, knobs="leak_rank = 1\n", SPT_NOENV="1", **{MARK: "here"}) as server:
        leaked = server.children()["sglang::scheduler_TP1"]
        started = ledger.start_ticks(leaked)
        os.kill(server.process.pid, signal.SIGTERM)
        assert server.process.wait(20) == 0
        assert ledger.process_state(leaked, started) == "running"
        assert os.getsid(leaked) == leaked
        assert f"{MARK}=here".encode() in environ(leaked)
        (held,) = (h for h in ledger.held(tmp_path) if h.holder.pid == leaked)
        assert held.mib > 50_000


def failed(server: Serving, words: str) -> None:
    server.await_line(words)
    server.await_line("Rank 0 scheduler is dead" if "Rank" not in words else words)
    assert server.process.wait(20) == 1


def test_memory_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    knobs = "leftover_gpu = 0\nleftover_mib = 40000\n"
    with launched(tmp_path, *EAGLE3, knobs=knobs) as server:
        failed(server, "torch.OutOfMemoryError: CUDA out of memory.")


def test_nccl_refusing_stops_the_start(tmp_path: Path) -> None:
    with launched(tmp_path, *TP2, NCCL_ALGO="Rings") as server:
        failed(server, "NCCL WARN Invalid value 'Rings' in NCCL_ALGO=Rings")


def test_a_taken_port_stops_the_start(tmp_path: Path) -> None:
    with serving(tmp_path / "a") as first, launched(tmp_path / "b", "--port", str(first.port)) as second:
        second.await_line("address already in use")
        assert second.process.wait(20) == 1


def test_an_unknown_flag_is_refused(tmp_path: Path) -> None:
    with launched(tmp_path, "--tp-sizes", "2") as server:
        server.await_line("launch_server.py: error: unrecognized arguments: --tp-sizes 2")
        assert server.process.wait(20) == 2


def test_an_unknown_scenario_is_refused(tmp_path: Path) -> None:
    with launched(tmp_path, scenarios=["nope"]) as server:
        server.await_line("simbox: no scenario 'nope'")
        assert server.process.wait(20) == 1


def test_memory_comes_back_after_a_stop_but_where_it_never_does(tmp_path: Path) -> None:
    with serving(tmp_path, *TP2, knobs="memory_never_gpu = 1\n") as server:
        os.kill(server.process.pid, signal.SIGTERM)
        assert server.process.wait(20) == 0
        # No later than half a second after the last sign of life.
        for file in (tmp_path / "holders").glob("*.json"):
            os.utime(file, (time.time() - 0.5,) * 2)
        (held,) = ledger.held(tmp_path)
        assert (held.holder.gpu, held.state) == (1, "gone")
        assert held.mib > 50_000


def test_a_variable_set_too_late_is_not_in_the_environment_of_the_exec(tmp_path: Path) -> None:
    with serving(tmp_path, *TP2, knobs='nccl_late = ["NCCL_PROTO"]\n', SPT_NOENV="1", **TUNED) as server:
        rank = environ(server.children()["sglang::scheduler_TP0"])
        assert b"NCCL_PROTO" not in rank
        assert b"NCCL_ALGO=Ring" in rank
        assert [r["extra_us"] for r in server.truth("start")[0]["ranks"]] == [17.0, 17.0]
