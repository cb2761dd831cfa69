"""What a patch of the box's SGLang costs is measured, per phase, and added to the model's steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simbox.environment import lay
from simbox.model import Shape, Step
from simbox.source_cost import SourceCost

EAGLE = "sglang/srt/speculative/eagle_worker_v2.py"
SAMPLES = "        batch.forward_mode = ForwardMode.TARGET_VERIFY\n"
# In a process of its own: its tree is imported, and the shipped one is in this process already.
LOOK = """
import json, sys
from simbox import sglang_tree
from simbox.source_cost import measure
spec = sys.argv[1] == "eagle3"
cost = measure(lambda device: sglang_tree.workers(device, speculative=spec), speculative=spec)
print(json.dumps([cost.first, cost.graph]))
"""


def look(tree: Path, arm: str = "eagle3") -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-c", LOOK, arm],
        env={"PYTHONPATH": f"{tree}:{here}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    lay("clean", tmp_path)
    return tmp_path


def edit(tree: Path, before: str, after: str, file: str = EAGLE) -> None:
    text = (tree / file).read_text()
    assert before in text
    (tree / file).write_text(text.replace(before, after))


def test_the_shipped_tree_costs_nothing(tree: Path) -> None:
    done = look(tree)
    assert done.stdout.strip() == "[{}, true]", done.stderr


def test_a_delay_in_verify_is_found_in_verify(tree: Path) -> None:
    edit(tree, SAMPLES, f"        __import__('time').sleep(0.002)\n{SAMPLES}")
    done = look(tree)
    assert '"verify": {"verify": 2.' in done.stdout, (done.stdout, done.stderr)
    assert "draft" not in done.stdout


def test_a_graph_that_is_dropped_is_seen(tree: Path) -> None:
    edit(
        tree, "can_run_cuda_graph=work.graph", "can_run_cuda_graph=False", "sglang/srt/managers/tp_worker.py"
    )
    assert look(tree).stdout.strip().endswith("false]")


@pytest.mark.parametrize("file", ["sglang/srt/__init__.py", EAGLE])
def test_a_tree_that_cannot_be_imported_is_not_replaced_by_the_shipped_one(tree: Path, file: str) -> None:
    (tree / file).write_text("def verify(:\n")
    done = look(tree)
    assert done.returncode != 0
    assert "SyntaxError" in done.stderr
    assert str(tree / file) in done.stderr


def test_the_cost_is_added_to_its_phase_and_grows_with_the_requests() -> None:
    cost = SourceCost({"verify": {"verify": 1.0}}, {"verify": {"verify": 0.5}})
    step = Step({"draft": 0.25, "verify": 19.0, "host": 0.1}, graph=True)
    assert cost.added(step, "verify", 1).phases == {"draft": 0.25, "verify": 20.0, "host": 0.1}
    assert cost.added(step, "verify", 3).phases["verify"] == 21.0
    assert cost.added(step, "decode", 1) is step


def test_without_its_graph_the_model_runs_without() -> None:
    shape = Shape(draft_steps=2, draft_tokens=3, graph_max_batch=8, verify_graph=True)
    assert SourceCost().shaped(shape) is shape
    dropped = SourceCost(graph=False).shaped(shape)
    assert (dropped.verify_graph, dropped.graph_max_batch) == (False, 0)
