"""88.8 became 82.2 tok/s: which of the stored eras a run belongs to, and where its reader is led."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from .expecting import PASS, REGRESSED
from .gate_run import ROOT, GateRun, words_of
from .playing import Playing
from .rows import BY_NAME
from .selecting import CONTROL
from .stored import StoredRun

ERAS = {"88.8": ROOT / "baselines", "82.2": ROOT / "baselines" / "eras" / "82.2" / "baselines"}


@pytest.fixture
def patched(playing: Playing) -> GateRun:
    """Return the run on the patched tree, judged against what the checkout holds: the good day's baselines."""
    playing.begin_row(BY_NAME["patched-tree"])
    return playing.told("patched-tree")


def test_the_reader_is_led_to_the_tree_and_not_to_nccl(patched: GateRun) -> None:
    (verdict,) = patched.verdicts(check="stored_baseline", metric="decode_tok_s", launch=CONTROL)
    assert verdict["reference"]["value"] == pytest.approx(88.8, rel=0.005)
    assert verdict["value"] == pytest.approx(82.2, rel=0.005)
    moved = re.match(r"baseline moved by (-\d+\.\d) %", verdict["headline"])
    assert moved, verdict["headline"]
    assert float(moved[1]) == pytest.approx(-7.4, abs=0.3)
    order = ["baseline moved", "the tree has changed since it was stored", "confirm with a clean tree"]
    places = [verdict["headline"].index(words) for words in order]
    assert places == sorted(places)
    assert "clean" in verdict["do"]
    assert "NCCL" not in words_of(verdict)


def test_the_same_words_stand_first_in_the_terminal_and_on_the_pages(patched: GateRun) -> None:
    said = " ".join(patched.said.split())
    assert "the tree has changed since it was stored" in said
    for page in ("report.html", "summary.md"):
        text = " ".join((patched.folder / page).read_text(encoding="utf-8").split())
        assert "the tree has changed since it was stored" in text, page
        assert "NCCL_" not in text.split("the tree has changed")[0].split("<body")[-1], page


def test_beside_its_own_era_the_same_run_is_fine(patched: GateRun, tmp_path: Path) -> None:
    """What is found wrong is the age of the baseline, so another one finds nothing."""
    stored = StoredRun.copied(patched.folder, tmp_path / "run")
    outcomes = {}
    for era, baselines in ERAS.items():
        shutil.rmtree(stored.folder / "baselines", ignore_errors=True)
        shutil.copytree(baselines / "sim-8gpu", stored.folder / "baselines" / "sim-8gpu")
        verdicts = [
            v for v in stored.judged() if v["check"] == "stored_baseline" and v["workload"] == "single"
        ]
        (outcomes[era],) = {v["outcome"] for v in verdicts if v["metric"] == "decode_tok_s"}
    assert outcomes == {"88.8": REGRESSED, "82.2": PASS}


@pytest.mark.parametrize(("era", "decode"), [("88.8", 88.8), ("82.2", 82.2)])
def test_both_eras_are_shipped(era: str, decode: float) -> None:
    files = sorted((ERAS[era] / "sim-8gpu").glob("*.json"))
    stored = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    (plain,) = [b for b in stored if b["arm"] == "baseline" and b["workload"] == "single"]
    values = [v for launch in plain["launches"] for start in launch["samples"]["decode_tok_s"] for v in start]
    assert sorted(values)[len(values) // 2] == pytest.approx(decode, rel=0.005)
    assert len(plain["launches"]) > 1, "one server start does not hold the spread between restarts"
    assert plain["simulated"] is True
    assert (plain["fingerprint"]["facts"]["sglang.dirty"] == "no") is (era == "88.8")
