"""What is decided by evidence alone: one good run, its files changed by hand, judged again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tokgate.cli.main import main as tokgate
from tokgate.records.verdict import EXIT_CODES, Outcome
from tokgate.verdicts.baselines.file import HASH_DIGITS
from tokgate.verdicts.baselines.identity import identity_hash

from .changed_evidence import CHANGES
from .expecting import NO_BASELINE, PASS, REGRESSED
from .gate_run import GateRun, rejudge, words_of
from .playing import Playing
from .selecting import CONTROL
from .stored import StoredRun


@pytest.fixture(scope="module")
def good(playing: Playing, tmp_path_factory: pytest.TempPathFactory) -> GateRun:
    """Return that run, with a baseline made of itself beside it."""
    run = playing.told("good")
    assert run.outcome(check="decode_throughput") == PASS, run.told()
    root = tmp_path_factory.mktemp("checkout")
    (root / "rigs").mkdir()
    stored = CliRunner().invoke(
        tokgate, ["--root", str(root), "baseline", "update", str(run.folder), "--why", "a good day"]
    )
    assert stored.exit_code == 0, stored.output
    shutil.copytree(root / "baselines", run.folder / "baselines", dirs_exist_ok=True)
    return run


@pytest.fixture
def stored(good: GateRun, tmp_path: Path) -> StoredRun:
    return StoredRun.copied(good.folder, tmp_path / "run")


def worst_of(verdicts: list[dict[str, Any]], check: str) -> tuple[str, str]:
    """Return the worst outcome of a check, and all that verdicts of this outcome say."""
    mine = [v for v in verdicts if v["check"] == check]
    order = [Outcome.REGRESSED, Outcome.INVALID, Outcome.INCONCLUSIVE, Outcome.NO_BASELINE, Outcome.PASS]
    outcome = next(o.value for o in order if any(v["outcome"] == o.value for v in mine))
    return outcome, " || ".join(words_of(v) for v in mine if v["outcome"] == outcome)


def test_unchanged_it_says_what_it_said(good: GateRun, stored: StoredRun) -> None:
    """Otherwise nothing below would prove anything."""
    again = [v for v in stored.judged() if v["check"] != "stored_baseline"]

    def said(verdict: dict[str, Any]) -> tuple[str, str, str]:
        # How far runs differ is told by the stored ones too, and those are others now.
        return verdict["check"], verdict["headline"].split(", interval")[0], verdict["outcome"]

    assert {said(v) for v in again} <= {said(v) for v in good.verdicts()}
    assert {v["outcome"] for v in again} == {PASS}
    assert worst_of(stored.judged(), "stored_baseline")[0] == PASS


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_the_evidence_changes_the_verdict(stored: StoredRun, what: str) -> None:
    change, check, outcome, words = CHANGES[what]
    change(stored)
    found, told = worst_of(stored.judged(), check)
    assert found == outcome, told
    assert re.search(words, told), told


@pytest.mark.parametrize("what", ["a variable is absent from one rank", "a marked process is left over"])
def test_the_process_ends_as_the_verdict_says(stored: StoredRun, what: str) -> None:
    change, check, outcome, words = CHANGES[what]
    change(stored)
    run = rejudge(stored.folder, "-k", f"clean_slate or {CONTROL}")
    assert run.code == EXIT_CODES[Outcome(outcome)], run.told()
    assert re.search(words, worst_of(run.verdict["verdicts"], check)[1]), run.told()
    assert re.search(words.split(".*", maxsplit=1)[0], " ".join(run.said.split())), run.told()


# ------------------------------------------------------------------ the older baseline
def _raise_baseline(run: StoredRun, factor: float, facts: dict[str, str]) -> None:
    """Make the stored numbers `factor` times as good, of six sessions, stored on a machine with these facts."""
    for file in (run.folder / "baselines").rglob("*.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        content.pop("anchor", None)  # they remember what was measured
        content.pop("accepted", None)
        sessions = []
        for number, apart in enumerate((0.0, 1e-3, -1e-3, 5e-4, -5e-4, 0.0)):
            for launch in json.loads(json.dumps(content["launches"])):
                for name in ("decode_tok_s", "client_decode_tok_s"):
                    launch["samples"][name] = [
                        [v * factor * (1 + apart) for v in start] for start in launch["samples"][name]
                    ]
                sessions.append({**launch, "run_id": f"session-{number}"})
        content["launches"] = sessions
        if content["fingerprint"] is not None:
            content["fingerprint"]["facts"].update(facts)
        file.write_text(json.dumps(content), encoding="utf-8")


def _patch_tree(run: StoredRun) -> None:
    changes = {"sglang.dirty": "yes", "sglang.changed": "1: srt/managers/scheduler.py"}
    run.change("fingerprint.json", lambda found: found["facts"].update(changes))


def test_a_loss_on_a_changed_tree_leads_to_the_tree(stored: StoredRun) -> None:
    _raise_baseline(stored, 88.8 / 82.2, {})
    _patch_tree(stored)
    verdicts = [
        v for v in stored.judged() if v["check"] == "stored_baseline" and v["metric"] == "decode_tok_s"
    ]
    (verdict,) = verdicts
    assert verdict["outcome"] == REGRESSED
    assert re.search(r"baseline moved by -7\.[345] ?%", verdict["headline"])
    assert "the tree has changed since it was stored" in verdict["headline"]
    assert "confirm with a clean tree" in verdict["headline"]
    assert "srt/managers/scheduler.py" in words_of(verdict)
    assert "NCCL" not in words_of(verdict)


def test_a_loss_on_the_same_tree_does_not(stored: StoredRun) -> None:
    _raise_baseline(stored, 88.8 / 82.2, {})
    (verdict,) = [
        v for v in stored.judged() if v["check"] == "stored_baseline" and v["metric"] == "decode_tok_s"
    ]
    assert verdict["outcome"] == REGRESSED
    assert "tree" not in words_of(verdict)


def test_a_changed_tree_without_a_loss_costs_no_verdict(stored: StoredRun) -> None:
    _patch_tree(stored)
    outcome, told = worst_of(stored.judged(), "stored_baseline")
    assert outcome == PASS
    assert "other edits in SGLang" in told


def test_another_driver_is_named(stored: StoredRun) -> None:
    _raise_baseline(stored, 1.08, {})
    driver = {f"gpu.{index}.driver_version": "575.57.08" for index in range(8)}
    stored.change("fingerprint.json", lambda found: found["facts"].update(driver))
    outcome, told = worst_of(stored.judged(), "stored_baseline")
    assert outcome == REGRESSED
    assert "the driver has changed since it was stored" in told


def test_a_real_baseline_is_none_for_the_box(stored: StoredRun) -> None:
    """Simulated and real runs are never compared, not even where all else is equal."""
    for file in (stored.folder / "baselines").rglob("*.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        assert content["identity"]["simulated"] == "true"
        content["identity"]["simulated"] = "false"
        content.update(simulated=False, identity_hash=identity_hash(content["identity"]))
        file.unlink()
        renamed = file.with_name(f"{content['identity_hash'][:HASH_DIGITS]}.json")
        renamed.write_text(json.dumps(content), encoding="utf-8")
    outcome, told = worst_of(stored.judged(), "stored_baseline")
    assert outcome == NO_BASELINE
    assert "nearest" not in told
