"""A gate on one server over two hosts, from clean slate to stop on both; and what comes of it when node 1 is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.stand import ROOT

from .stories import Played

pytestmark = [pytest.mark.slow, pytest.mark.alone]
LAUNCHES = ("01-baseline", "02-arm-1", "03-baseline-again")


def test_every_rank_is_started_on_its_host_by_a_line_of_its_own(whole: Played) -> None:
    server = whole.launch("arm-1")["server"]
    (node,) = server["nodes"]
    lines = [server["line"]["shown"], node["line"]["shown"]]
    for rank, line in enumerate(lines):
        assert f"--nnodes 2 --node-rank {rank} --dist-init-addr 10.78.0.1:" in line, (
            "an address that b reaches"
        )
    assert (server["host"], node["host"]) == ("ssh://root@10.77.1.2", "ssh://root@10.77.2.2")
    assert whole.ranks(0) == ["TP0", "TP1"]
    assert whole.ranks(1) == ["TP2", "TP3"]


def test_the_machine_is_that_of_both_nodes(whole: Played) -> None:
    launch = whole.launch("arm-1")
    assert [gpu["index"] for gpu in launch["slate"]["gpus"]] == list(range(16))
    assert launch["telemetry"]["gpus"] == 16
    assert launch["telemetry"]["nodes"][0]["rows"]["gpus"] > 0
    identity = whole.verdict["verdicts"]
    assert not [v for v in identity if "telemetry is of" in v["headline"]]


def test_the_environment_is_proven_in_the_processes_of_both(whole: Played) -> None:
    rows = whole.launch("arm-1")["environment"]["rows"]
    assert {row["state"] for row in rows} == {"present"}
    proven = {(row["node"], row["process"]) for row in rows if row["variable"] == "NCCL_PROTO"}
    assert {
        (0, "main"),
        (1, "main on node 1"),
        (0, "scheduler TP1"),
        (1, "scheduler TP3 on node 1"),
    } <= proven


def test_the_nccl_block_is_proven_in_every_rank(whole: Played) -> None:
    (row,) = [v for v in whole.verdict["verdicts"] if v["check"] == "nccl_proof"] or [None]
    ranks = whole.launch("nccl-proof")["nccl"]["ranks"]
    assert [(one["rank"], one["node"]) for one in ranks] == [(0, 0), (1, 0), (2, 1), (3, 1)]
    profiles = whole.launch("nccl-proof")["nccl"]["profiles"]
    assert sorted(one["rank"] for one in profiles) == [0, 1, 2, 3]
    assert row is None or row["outcome"] == "pass"


def test_the_instruments_tell_of_the_ranks_of_both(whole: Played) -> None:
    (folder,) = whole.folder.glob("launches/*-arm-1-phases")
    for name in ("probe", "probe-node1"):
        assert len(list((folder / name).glob("phases-*.jsonl"))) == 2
    verdict = json.dumps(whole.verdict)
    assert '"rank": 3' in verdict


def test_it_ends_as_a_gate_on_one_host_does_and_nothing_is_left(whole: Played) -> None:
    assert whole.code in (10, 12), whole.said  # nothing is stored yet; at load it may be inconclusive
    assert whole.left == {}
    for launch in LAUNCHES:
        stop = whole.launch(launch.partition("-")[2])["stop"]
        assert (stop["killed"], stop["survivors"], stop["note"]) == (False, [], None)


def test_its_folder_alone_is_judged_as_the_session_was(whole: Played, tmp_path: Path) -> None:
    folder = tmp_path / whole.folder.name
    shutil.copytree(whole.folder, folder)
    (folder / "verdict.json").unlink()
    argv = [sys.executable, "-m", "tokgate", "report", str(folder)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == whole.code, done.stdout + done.stderr
    again = json.loads((folder / "verdict.json").read_text())
    assert again["outcome"] == whole.verdict["outcome"]
    assert [v["headline"] for v in again["verdicts"]] == [v["headline"] for v in whole.verdict["verdicts"]]


def test_a_node_that_cannot_start_is_named_with_its_traceback_at_once(refused: Played) -> None:
    launch = refused.launch("baseline")
    failure: dict[str, Any] = launch["failure"]
    assert failure["headline"].startswith("node 1 (ssh://root@10.77.2.2): ")
    assert "NCCL error" in "\n".join([failure["headline"], *failure["evidence"], *failure["log_tail"]])
    assert launch["wall_s"] < 60, "the start may take 90 s"
    assert "server-node1.log" in failure["do"]
    assert "DistBackendError" in refused.log("baseline", 1)
    assert refused.code == 11
    assert refused.left == {}


def test_a_server_process_that_dies_on_node_1_costs_its_launch_alone(lost: Played) -> None:
    launch = lost.launch("baseline")
    assert launch["liveness"]["why"].startswith(
        "node 1 (ssh://root@10.77.2.2): its server process was ended by signal 9"
    )
    assert launch["stop"]["survivors"] == []
    assert lost.launch("arm-1")["server"] is not None, "the next launch started on both again"


def test_a_node_out_of_reach_ends_the_launch_by_its_name(lost: Played) -> None:
    launch = lost.launch("arm-1")
    assert "node 1" in launch["liveness"]["why"]
    assert lost.code == 11
    assert "10.77.2.2" in lost.said


def test_nothing_is_left_on_either_host_once_node_1_was_out_of_reach(lost: Played) -> None:
    assert lost.left == {}


def test_a_node_without_sshd_ends_the_launch_and_nothing_is_left(no_sshd: Played) -> None:
    assert "node 1" in no_sshd.launch("baseline")["liveness"]["why"]
    assert no_sshd.code == 11
    assert no_sshd.left == {}


def test_a_killed_gate_leaves_no_server_and_no_lease_on_either_host(killed: dict[str, Any]) -> None:
    assert all(count >= 3 for count in killed["before"].values()), killed["before"]
    assert killed["left"] == {}
