"""One server over two hosts: both are this machine, in folders of their own, and the stand-in plays both nodes."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fleet.namespaces import wait_for
from tests.server.bench import LAUNCH, standin_rig
from tests.server.hand import marked
from tokgate.errors import HostFault, StartFault
from tokgate.hosts.connection import connect
from tokgate.records import StartCause
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec, NodeSpec
from tokgate.rig.models import Rig
from tokgate.rig.nodes import NodeRig, nodes_of
from tokgate.server.followers import Further
from tokgate.server.launch import RunningServer, start


def rig_of_two(folder: Path, **server: object) -> Rig:
    further = NodeSpec(testinfra="local://", work_dir=str(folder / "node-1"))
    host = HostSpec(work_dir=str(folder / "node-0"), nodes=(further,))
    return standin_rig(host, server={"nodes": 2, "dist_init_addr": "127.0.0.1", **server})


def start_two(rig: Rig, folder: Path, mark: str, *, second: NodeRig | None = None) -> RunningServer:
    redactor = Redactor()
    first, other = nodes_of(rig)
    other = second or other
    return start(
        connect(first.rig.host, redactor=redactor),
        rig,
        LAUNCH,
        mark=mark,
        redactor=redactor,
        folder=folder / "here",
        further=(Further(other, connect(other.rig.host, redactor=redactor)),),
    )


@contextmanager
def running(rig: Rig, folder: Path, mark: str) -> Iterator[RunningServer]:
    server = start_two(rig, folder, mark)
    try:
        yield server
    finally:
        server.stop()
        server.collect(folder / "here")


def left(mark: str) -> list[int]:
    return [*marked(mark), *marked(f"{mark}/node1")]


def test_both_run_are_proven_stop_and_leave_their_logs(tmp_path: Path, mark: str) -> None:
    with running(rig_of_two(tmp_path), tmp_path, mark) as server:
        (node,) = server.run.nodes
        assert node.pid != server.run.pid
        truth = server.prove_environment(dict(server.run.line.environment))
    assert {(row.node, row.state.value) for row in truth.rows} == {(0, "present"), (1, "present")}
    assert "main on node 1" in {row.process for row in truth.rows}
    stop = server.stop()
    assert (stop.killed, stop.survivors) == (False, ())
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["server-node1.log", "server.log"]
    assert not list((tmp_path / "node-1" / "launches").iterdir()), "nothing of the launch is left on node 1"
    assert left(mark) == []


def test_a_node_that_dies_is_named_and_the_rest_is_not_waited_for(tmp_path: Path, mark: str) -> None:
    with running(rig_of_two(tmp_path, stop_timeout_s=60), tmp_path, mark) as server:
        os.kill(server.run.nodes[0].pid, signal.SIGKILL)
        why = wait_for(server.why_gone, what="news of its end")
        stop = server.stop()
    assert why == "node 1 (local): its server process was ended by signal 9"
    assert stop.seconds < 30, "no draining of a server that cannot answer"
    assert left(mark) == []


def test_a_node_that_cannot_start_ends_the_start_at_once_by_its_name(tmp_path: Path, mark: str) -> None:
    rig = rig_of_two(tmp_path, start_timeout_s=60)
    second = nodes_of(rig)[1]
    broken = second.rig.server.model_copy(update={"python": "/no/such/python"})
    second = second._replace(rig=second.rig.model_copy(update={"server": broken}))
    with pytest.raises(StartFault) as refused:
        start_two(rig, tmp_path, mark, second=second)
    failure = refused.value.failure
    assert failure is not None
    assert failure.cause is StartCause.NO_PYTHON
    assert failure.headline.startswith("node 1 (local): ")
    assert left(mark) == []
    assert (tmp_path / "here" / "server-node1.log").exists()
    assert (tmp_path / "here" / "server.log").exists()


def test_a_meeting_point_that_is_taken_is_refused_before_anything_is_laid_out(
    tmp_path: Path, mark: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        rig = rig_of_two(tmp_path, dist_init_addr=f"127.0.0.1:{port}")
        with pytest.raises(HostFault, match=f"port {port} is taken"):
            start_two(rig, tmp_path, mark)
    assert not (tmp_path / "node-0").exists()
