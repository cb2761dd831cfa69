"""One real server over two nodes of this machine, a rank on each, joined by gloo."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest

from tokgate.hosts.connection import connect
from tokgate.records import EnvironmentTruth, Generation, Launch, ServerRun, StopRecord, VariableState
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import NodeSpec
from tokgate.rig.nodes import nodes_of
from tokgate.server.followers import Further, log_name
from tokgate.server.launch import start

from .conftest import prompts
from .engine import PLAIN, ask, engine_rig

pytestmark = [pytest.mark.engine, pytest.mark.slow]
TOKENS = 16


@dataclass(frozen=True)
class TwoNodes:
    run: ServerRun
    answers: tuple[Generation, ...]
    environment: EnvironmentTruth
    stop: StopRecord
    logs: tuple[str, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> TwoNodes:
    folder = tmp_path_factory.mktemp("two-nodes")
    rig = engine_rig("golden")
    server = rig.server.model_copy(
        update={
            "nodes": 2,
            "dist_init_addr": "127.0.0.1",  # on one machine the loopback's reaches both
            "args": {**rig.server.args, "tp_size": 2},
            # Two ranks on a machine with one NUMA node: SGLang wants to be told which cores each has (numa_utils.py).
            "environment": {**rig.server.environment, "SGLANG_CPU_OMP_THREADS_BIND": "0|1"},
            "start_timeout_s": 300.0,
            "silence_timeout_s": 200.0,
        }
    )
    further = NodeSpec(testinfra="local://", work_dir=str(folder / "work-1"))
    host = rig.host.model_copy(update={"nodes": (further,), "work_dir": str(folder / "work-0")})
    rig = rig.model_copy(update={"server": server, "host": host})
    first, second = nodes_of(rig)
    redactor = Redactor()
    running = start(
        connect(first.rig.host, redactor=redactor),
        rig,
        Launch(id=f"01-{PLAIN}", arm=PLAIN, role="control"),
        mark=f"tests-engine/{uuid.uuid4().hex[:8]}",
        redactor=redactor,
        folder=folder,
        further=(Further(second, connect(second.rig.host, redactor=redactor)),),
    )
    try:
        answers = tuple(ask(running, prompts(2, seed=7), tokens=TOKENS))
        truth = running.prove_environment(dict(running.run.line.environment))
    finally:
        stop = running.stop()
        running.collect(folder)
    logs = tuple((folder / log_name(rank)).read_text() for rank in (0, 1))
    return TwoNodes(running.run, answers, truth, stop, (logs[0], logs[1]))


def test_it_generates_with_a_rank_on_each_node(served: TwoNodes) -> None:
    assert all(
        answer.good and answer.counters.completion_tokens == TOKENS
        for answer in served.answers
        if answer.counters
    )
    assert served.run.server_info["nnodes"] == 2
    assert "TP0" in served.logs[0]
    assert "TP1" in served.logs[1]


def test_the_environment_is_proven_on_both(served: TwoNodes) -> None:
    assert {row.state for row in served.environment.rows} == {VariableState.PRESENT}
    named = {(row.node, row.process) for row in served.environment.rows}
    assert {(0, "main"), (0, "scheduler TP0"), (1, "main on node 1"), (1, "scheduler TP1 on node 1")} <= named


def test_node_1_serves_a_dummy_alone(served: TwoNodes) -> None:
    """What the simulated box plays on a further node is what this version does."""
    assert "Dummy health check server started in background thread at 127.0.0.1:" in served.logs[1]
    assert "fired up and ready to roll" not in served.logs[1]


def test_stopping_node_0_stops_both(served: TwoNodes) -> None:
    assert (served.stop.killed, served.stop.survivors) == (False, ()), served.stop
    assert "terminated with 0" in served.logs[1]
