"""A fault is planted by the driver into a real session, on the simulated box, and the session names it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from campaign import Budget, Campaign
from host_install import Installed
from ledger import Ledger
from planted import planted_steps

from tokgate.rig.load import load_rig

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_a_server_that_is_killed_in_mid_run_is_named(tmp_path: Path) -> None:
    place = Installed(tmp_path / "into")
    place.python.parent.mkdir(parents=True)
    place.python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    place.python.chmod(0o755)
    place.checkout.symlink_to(ROOT)
    rig = load_rig("sim-8gpu", root=ROOT)
    more = (
        *("--rig", "sim-8gpu", "--sim-state", str(tmp_path / "state"), "-p", "no:cacheprovider"),
        *("--rig-set", f"host.work_dir={tmp_path / 'work'}", "--rig-set", "sampling.gpu_time_s=0"),
        # As short as a session can be that is killed in its fourth generation.
        *("--rig-set", "workloads.single.repeats=4", "--rig-set", "workloads.conc8.repeats=1"),
        *("--rig-set", "workloads.conc8.warmup=0", "--rig-set", "lossless.count=1"),
    )
    steps = planted_steps(("server-killed",), rig, more)
    known = Ledger("planted", "sim-8gpu", steps)
    budget = Budget(time.monotonic(), None)
    campaign = Campaign(tmp_path / "campaign", known, rig, place, budget, sys.executable)
    assert campaign.run() == 11
    (attempt,) = known.attempts
    told = json.loads(
        (tmp_path / "campaign" / "runs" / attempt.step / str(attempt.run) / "verdict.json").read_text()
    )
    assert told["outcome"] == "invalid"
    of_it = [v for v in told["verdicts"] if v["launch"] == "02-eagle3-2step" and v["outcome"] == "invalid"]
    assert of_it
    assert all("the server was ended by signal 9" in v["headline"] for v in of_it)
    assert "signal 9" not in json.dumps([v for v in told["verdicts"] if v["launch"] == "01-baseline"])
