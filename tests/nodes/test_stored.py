"""A run of one server over two hosts, judged again from its folder alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.baseline_checkout import ONE, write_run
from tests.verdicts.evidence import EAGLE3, controls, eagle3, make_rig
from tokgate.records import LaunchEvidence, NodeRun, VariableState
from tokgate.rig.models import Rig

ROOT = Path(__file__).parents[2]
ARM = "eagle3-2step"
NODE_1 = "ssh://me@gpu8"


def rig() -> Rig:
    made = make_rig(
        workloads=ONE,
        arms=[{"name": "baseline", "kind": "baseline"}, {"name": ARM, **EAGLE3}],
        instruments={"skip": "nobody asked"},
        lossless=None,
        gpus={"count": 0},
        host={"testinfra": "ssh://me@gpu7", "nodes": [{"testinfra": NODE_1}]},
    )
    server = made.server.model_copy(update={"nodes": 2, "args": {"tp_size": 2}})
    return Rig.model_validate(made.model_copy(update={"server": server}).model_dump())


def on_two(launch: LaunchEvidence, **row: Any) -> LaunchEvidence:
    """Return a launch of which the scheduler TP1 ran on node 1. `row`: what its environment says of one variable."""
    server, truth = launch.server, launch.environment
    assert server is not None
    assert truth is not None
    node = NodeRun(
        node=1, host=NODE_1, line=server.line, pid=201, start_ticks=1, sid=201, mark=f"{server.mark}/node1",
        log_file="server-node1.log",
    )  # fmt: skip
    there = {"node": 1, "process": "scheduler TP1 on node 1"}
    rows = tuple(one.model_copy(update=there) if "TP1" in one.process else one for one in truth.rows)
    rows = tuple(
        one.model_copy(update=row) if one.node and one.variable == "NCCL_ALGO" else one for one in rows
    )
    return launch.model_copy(
        update={
            "server": server.model_copy(update={"nodes": (node,)}),
            "environment": truth.model_copy(
                update={
                    "rows": rows,
                    "processes": tuple(
                        one.model_copy(update={"node": 1}) if "TP1" in one.comm else one
                        for one in truth.processes
                    ),
                }
            ),
        }
    )


def report(folder: Path, **row: Any) -> tuple[int, str, dict[str, Any]]:
    before, after = controls()
    again = after.launch.model_copy(update={"id": "03-baseline-again"})
    after = after.model_copy(
        update={
            "launch": again,
            "generations": tuple(g.model_copy(update={"launch": again.id}) for g in after.generations),
        }
    )
    launches = [on_two(before), on_two(eagle3(), **row), on_two(after)]
    write_run(folder, *launches, rig=rig())
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "selection": "perf_tests -m eagle3"}))
    done = subprocess.run(
        [sys.executable, "-m", "tokgate", "report", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (folder / "verdict.json").exists(), done.stdout + done.stderr
    return done.returncode, done.stdout, json.loads((folder / "verdict.json").read_text())


def test_a_stored_run_over_two_hosts_is_judged_by_its_folder(tmp_path: Path) -> None:
    code, said, verdict = report(tmp_path / "20261130T100000-small")
    proven = [v for v in verdict["verdicts"] if v["check"] == "environment_truth"]
    assert {v["outcome"] for v in proven} == {"pass"}, said
    assert verdict["outcome"] != "error"
    assert code == verdict["exit_code"]
    assert str(tmp_path) in said


def test_what_was_wrong_on_node_1_is_found_again_by_its_name(tmp_path: Path) -> None:
    wrong = {"found": None, "state": VariableState.ABSENT}
    code, said, verdict = report(tmp_path / "20261130T100001-small", **wrong)
    assert code == 11, said
    (lost,) = [
        v for v in verdict["verdicts"] if v["check"] == "environment_truth" and v["outcome"] == "invalid"
    ]
    assert "scheduler TP1 on node 1" in lost["headline"]
    cells = [cell for row in verdict["environment"] for cell in row["open_cells"]]
    assert [(cell["node"], cell["process"]) for cell in cells] == [(1, "scheduler TP1 on node 1")]
