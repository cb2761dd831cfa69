"""A simulated server over two boxes: it meets over TCP, its further node serves a dummy, and neither outlives the other."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .serving import Serving, launched

SPT = {"SPT_NOENV": "1"}


@contextmanager
def two(folder: Path) -> Iterator[tuple[Serving, Serving]]:
    """Node 1 first, which then waits; both are up when entered."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    where = ("--tp-size", "4", "--nnodes", "2", "--dist-init-addr", f"127.0.0.1:{port}", "--node-rank")
    with launched(folder / "b", *where, "1", **SPT) as second:
        second.await_line("Init torch distributed begin.")
        with launched(folder / "a", *where, "0", **SPT) as first:
            first.await_line("fired up")
            second.await_line("Dummy health check server started")
            yield first, second


def test_each_node_has_its_ranks_and_node_0_alone_serves(tmp_path: Path) -> None:
    with two(tmp_path) as (first, second):
        assert len(first.generate(tokens=8)["output_ids"]) == 8
        assert {name for name in first.children() if "scheduler" in name} == {
            "sglang::scheduler_TP0",
            "sglang::scheduler_TP1",
        }
        assert {name for name in second.children() if "::" in name} == {
            "sglang::scheduler_TP2",
            "sglang::scheduler_TP3",
        }
        assert [second.ask("GET", path)[0] for path in ("/health", "/generate", "/server_info")] == [
            200,
            404,
            404,
        ]
        # A further node waits for node 0's word; it comes when that one is told to end.
        second.process.send_signal(signal.SIGTERM)
        second.await_line("SIGTERM received on node_rank 1; waiting for the rank-0 ShutdownReq broadcast")
        assert second.process.poll() is None
        first.process.send_signal(signal.SIGTERM)
        second.await_line("terminated with 0")
        assert (first.process.wait(20), second.process.wait(20)) == (0, 0)


def test_a_rank_that_dies_on_node_1_takes_both_along(tmp_path: Path) -> None:
    with two(tmp_path) as (first, second):
        os.kill(second.children()["sglang::scheduler_TP3"], signal.SIGKILL)
        second.await_line("terminated with -9")
        first.await_line("Connection closed by peer")
        assert (first.process.wait(20), second.process.wait(20)) == (-9, -9)


def test_node_1_does_not_outlive_node_0(tmp_path: Path) -> None:
    with two(tmp_path) as (first, second):
        first.process.kill()
        second.await_line("Connection closed by peer")
        assert second.process.wait(20) == -9


def test_what_sglang_refuses_is_refused(tmp_path: Path) -> None:
    with launched(
        tmp_path / "a", "--tp-size", "3", "--nnodes", "2", "--dist-init-addr", "127.0.0.1:1"
    ) as server:
        server.await_line("tp_size must be divisible by number of nodes")
    with launched(tmp_path / "b", "--tp-size", "2", "--nnodes", "2") as server:
        server.await_line("dist_init_addr is required")
