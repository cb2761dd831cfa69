"""The probe has a bad day inside a running server: the server goes on, and the gate says what it does not know."""

from __future__ import annotations

import json
import re

import pytest

from tokgate.records.verdict import EXIT_CODES, Outcome

from .expecting import INVALID
from .gate_run import GateRun, words_of
from .harm import HARMS, Harm
from .phase_stories import Instrumented
from .selecting import CARRIER

pytestmark = pytest.mark.parametrize(
    "harm", [pytest.param(h, id=h.name, marks=[pytest.mark.slow] if h.slow else []) for h in HARMS]
)


def test_the_gate_says_what_is_unknown(harm: Harm, harmed: GateRun) -> None:
    told = harmed.verdicts(check="verify_latency")
    assert (harmed.code, harmed.verdict["outcome"]) == (EXIT_CODES[Outcome(harm.outcome)], harm.outcome), (
        harmed.told()
    )
    said = " || ".join(words_of(v) for v in told if v["outcome"] == harm.outcome)
    assert re.search(harm.says, said), harmed.told()
    assert "Traceback" not in harmed.said
    if harm.outcome == INVALID:
        assert all(v["value"] is None for v in told), "something stands in for what is not known"


def test_the_server_does_not_notice(harm: Harm, harmed: GateRun) -> None:
    launch = harmed.launch(CARRIER)
    evidence = Instrumented.of(harmed).evidence
    if not harm.unharmed:
        assert launch["liveness"] is None or not launch["liveness"]["alive"]
        return
    assert launch["faults"] == []
    assert launch["liveness"]["alive"]
    assert launch["liveness"]["answered"]
    assert launch["stop"]["killed"] is False
    assert all(g.good for g in evidence.generations)
    assert len([g for g in evidence.generations if not g.warmup]) == 6
    log = (harmed.folder / "launches" / CARRIER / "server.log").read_text(encoding="utf-8")
    assert "Scheduler hit an exception" not in log


def test_what_came_home_is_bounded_and_nothing_of_it_is_lost(harm: Harm, harmed: GateRun) -> None:
    files = harmed.files(f"launches/{CARRIER}/probe/*.jsonl")
    assert sum(file.stat().st_size for file in files) < 32 << 20
    if harm.name in ("disk-full", "clock-raises", "hooking-raises", "renamed", "killed"):
        assert len(files) == 8
        assert all(json.loads(f.read_text(encoding="utf-8").splitlines()[0])["probe"] == 1 for f in files)
