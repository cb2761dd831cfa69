"""What a loss takes to be called: simulated, from a self-test, and from whole sessions."""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("simbox")  # by way of benchmarks.gate_sessions

from benchmarks.smallest_loss import Design, aa, measured, served_s, simulated
from tokgate.records import Fingerprint
from tokgate.records.selftest import Block, PlantedLaunch, Rate, SelfTest
from tokgate.rig.load import load_rig

ROOT = Path(__file__).parents[2]
RIG = "h200-quick"


def test_serving_time_is_that_of_all_requests_of_both_sides() -> None:
    assert Design(runs=4, starts=4, warm_ups=2, tokens=100).serving_s(100.0, 50.0) == pytest.approx(
        24 * (1.0 + 2.0 + 2 * 0.025)
    )


def test_a_loss_of_two_per_cent_is_called_and_none_is_not() -> None:
    asked = argparse.Namespace(sessions=20, start=0.0005, restart=0.0012, plain_restart=0.00014, seed=0)
    lines = list(simulated(load_rig(RIG, root=ROOT), asked))
    (line,) = [one for one in lines if one.split()[:4] == ["both", "sides", "4", "4"]]
    assert "0 of 20" in line
    assert "100.0%" in line
    (few,) = [one for one in lines if one.split()[:4] == ["both", "sides", "2", "4"]]
    assert "100.0%" not in few  # two runs a side do not tell a loss from two modes of restarts


def selftest(folder: Path, *, loss: float) -> Path:
    """Eight server runs of the pinned arm, 335 tok/s, with blocks of nothing, a planted per cent, and nothing again."""
    draw = random.Random(7)

    def block(planted: float, run: float) -> Block:
        speed = 335.0 * (1 + run) * (1 - (loss if planted else 0.0))
        values = tuple(speed * (1 + draw.gauss(0, 0.0004)) for _ in range(4))
        return Block(workload="single", planted=planted, order="", values={"decode_tok_s": values})

    launches = []
    for number in range(8):
        run = draw.gauss(0, 0.001)
        blocks = tuple(block(planted, run) for planted in (0.0, 0.01, 0.0))
        launches.append(PlantedLaunch(launch=f"{number:02d}", seconds=50.0, blocks=blocks))
    told = SelfTest(
        id="t",
        rig=RIG,
        simulated=False,
        arm="eagle3-2step-pinned",
        workloads=("single",),
        sglang_version="0.5.16",
        started_at="2026-11-30T00:00:00+00:00",
        tokgate_version="0",
        restarts=8,
        baseline_runs=4,
        session_runs=4,
        levels=(0.01,),
        false_alarm=0.01,
        settings={},
        fingerprint=Fingerprint(facts={}),
        launches=tuple(launches),
        alarms=Rate(seen=0, of=0, low=0.0, high=1.0),
    )
    file = folder / "t.json"
    file.write_text(told.model_dump_json(), encoding="utf-8")
    return file


def row(lines: list[str], planted: str, runs: str) -> str:
    (found,) = [one for one in lines if one.split()[:3] == ["single", planted, runs]]
    return found


def test_planted_blocks_are_held_against_unplanted_ones_of_other_server_runs(tmp_path: Path) -> None:
    lines = list(measured(selftest(tmp_path, loss=0.01)))
    assert "70 of 70" in row(lines, "1.00%", "4")
    assert "1 of 1" in row(lines, "1.00%", "4")
    assert "0 of 70" in row(lines, "0.00%", "4")
    assert float(row(lines, "1.00%", "4").split()[-2]) < 180  # seconds of serving


def test_a_plant_that_slowed_nothing_is_called_by_nobody(tmp_path: Path) -> None:
    assert "0 of 70" in row(list(measured(selftest(tmp_path, loss=0.0))), "1.00%", "4")


def test_streams_of_one_start_are_served_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "launches" / "01-baseline"
    folder.mkdir(parents=True)
    rows = [
        {"workload": "conc", "batch": 0, "sent_ns": 0, "end_ns": 2_000_000_000},
        {"workload": "conc", "batch": 0, "sent_ns": 0, "end_ns": 3_000_000_000},
        {"workload": "conc", "batch": 1, "sent_ns": 5_000_000_000, "end_ns": 6_000_000_000},
        {"workload": "conc", "batch": 2, "sent_ns": 7_000_000_000, "end_ns": None},
    ]
    (folder / "generations.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert served_s(tmp_path) == pytest.approx(4.0)


def test_alarms_are_counted_over_whole_sessions(tmp_path: Path) -> None:
    for name, outcome in (("a", "pass"), ("b", "regressed"), ("c", "inconclusive")):
        run = tmp_path / name
        run.mkdir()
        told = {
            "outcome": outcome,
            "headline": "so it was",
            "verdicts": [{"metric": "decode_tok_s", "smallest": 0.012}],
        }
        (run / "verdict.json").write_text(json.dumps(told))
    lines = list(aa([tmp_path / name for name in "abc"]))
    assert "1 of 3" in lines[3]
    assert "called from 1.20% on" in lines[0]
    assert np.isfinite(float(lines[4].split()[-2]))
