"""Whoever measures does not know what is played: no name of a scenario is in what the gate measures by or judges from."""

from __future__ import annotations

import json

import pytest

from .gate_run import FOR_PEOPLE, GateRun
from .playing import Playing
from .selecting import CONTROL
from .stories import SEEN, TRACER


@pytest.fixture(scope="module")
def traced(playing: Playing) -> GateRun:
    return playing.told("traced")


def _told(run: GateRun) -> dict[str, bytes]:
    return {str(p.relative_to(run.folder)): p.read_bytes() for p in run.folder.rglob("*") if p.is_file()}


def test_what_was_asked_for_was_played(traced: GateRun) -> None:
    """Else nothing would have had to be hidden."""
    assert traced.state is not None
    truth = "".join(p.read_text() for p in traced.state.glob("runs/*/truth.jsonl"))
    assert f'"scenarios":["{TRACER}","ignores-term","nccl-late"]' in truth
    assert '"patch_ms":0.1' in truth
    assert traced.launch(CONTROL)["stop"]["killed"] is True
    assert traced.outcome(check="environment_truth") == "invalid"


def test_no_file_of_the_run_names_it(traced: GateRun) -> None:
    kept = _told(traced)
    assert {"run.json", "rig.json", "report.html", "junit.xml", f"launches/{CONTROL}/server.log"} <= set(kept)
    names = (TRACER.encode(), b"ignores-term", b"nccl-late", b"--sim-scenario", b"sim_scenario")
    assert set(kept) >= FOR_PEOPLE
    assert [
        (file, name)
        for file, text in kept.items()
        if file not in FOR_PEOPLE
        for name in names
        if name in text
    ] == []


def test_the_recorded_command_says_what_was_measured_all_the_same(traced: GateRun) -> None:
    run = json.loads((traced.folder / "run.json").read_text())
    assert "perf_tests" in run["command"]
    assert "server.stop_timeout_s=1" in run["command"]
    assert "--report-dir" in run["command"]
    assert "--sim-" not in run["command"]


def test_no_process_of_the_server_names_it(traced: GateRun) -> None:
    assert len(SEEN) >= 10, "main, eight ranks and the detokenizer"
    assert any(b"NCCL_ALGO=Ring" in told for told in SEEN.values())
    for name in (TRACER.encode(), b"ignores-term", b"nccl-late"):
        assert [pid for pid, told in SEEN.items() if name in told] == [], traced.told()
