"""What is decided by evidence alone: one good run, its files changed by hand, judged again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tokgate.cli.main import main as tokgate
from tokgate.records.verdict import EXIT_CODES, Outcome
from tokgate.verdicts.baseline_file import HASH_DIGITS
from tokgate.verdicts.identity import identity_hash

from .expecting import INVALID, NO_BASELINE, PASS, REGRESSED
from .gate_run import GateRun, rejudge, words_of
from .playing import Playing
from .selecting import CONTROL
from .stored import GENERATIONS, LAUNCH, TELEMETRY, StoredRun

Change = Callable[[StoredRun], None]


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


# ------------------------------------------------------------------ changes
def _environment(pick: Callable[[dict[str, Any]], bool], **new: str | None) -> Change:
    def apply(run: StoredRun) -> None:
        def change(launch: dict[str, Any]) -> None:
            rows = [row for row in launch["environment"]["rows"] if pick(row)]
            assert rows
            for row in rows:
                row.update(new)

        run.change(LAUNCH, change)

    return apply


def _of(process: str, variable: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["variable"] == variable and row["process"].startswith(process)


def _json(name: str, change: Callable[[Any], object]) -> Change:
    return lambda run: run.change(name, change)


def _finding(slate: str, severity: str, what: str) -> Change:
    return _json(
        slate, lambda found: found["findings"].append({"severity": severity, "what": what, "do": "end it"})
    )


_SURVIVOR = {
    "pid": 4711, "start_ticks": 99, "ppid": 1, "pgid": 1, "sid": 1, "state": "D", "user": "root",
    "comm": "sglang::schedul", "cmdline": "sglang::scheduler_TP2", "mark": "20200101T000000-box/01-baseline",
}  # fmt: skip


def _held_back(run: StoredRun) -> None:
    def change(row: dict[str, Any]) -> None:
        if row["kind"] == "gpus":
            for gpu in row["gpus"]:
                gpu[6] = 0x20  # sw_thermal_slowdown
                gpu[1] = 1992.0

    run.change_lines(TELEMETRY, change)


def _visited(run: StoredRun) -> None:
    def change(row: dict[str, Any]) -> None:
        if row["kind"] == "holders":
            row["holders"].append([5, 4711, 99, 1894.0, "python3"])

    run.change_lines(TELEMETRY, change)


def _blind(run: StoredRun) -> None:
    (run.folder / TELEMETRY).write_text("")


def _short(run: StoredRun) -> None:
    file = run.folder / TELEMETRY
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(line for line in lines if '"kind":"gpus"' in line)
    file.write_text("".join(line for line in lines if line == first or '"kind":"gpus"' not in line))


def _cut(run: StoredRun) -> None:
    def change(generation: dict[str, Any]) -> None:
        if generation["index"] == 3 and generation["workload"] == "single":
            generation.update(status="cut", why="the stream ended in the middle")

    run.change_lines(GENERATIONS, change)


def _counts_wrong(run: StoredRun) -> None:
    def change(generation: dict[str, Any]) -> None:
        generation["counters"]["cached_tokens"] = 12

    run.change_lines(GENERATIONS, change)


CHANGES: dict[str, tuple[Change, str, str, str]] = {
    # what is changed: how, and what the check concludes and says then
    "a variable is absent from one rank": (
        _environment(_of("scheduler TP5", "NCCL_ALGO"), found=None, state="absent"),
        "environment_truth",
        INVALID,
        "NCCL_ALGO absent from scheduler TP5",
    ),
    "a variable has another value in one rank": (
        _environment(_of("scheduler TP2", "NCCL_BUFFSIZE"), found="4M", state="different"),
        "environment_truth",
        INVALID,
        "NCCL_BUFFSIZE is '4M' in scheduler TP2.*wanted '16777216'",
    ),
    "the ranks' environment is erased": (
        _environment(lambda row: row["process"].startswith("scheduler"), found=None, state="erased"),
        "environment_truth",
        INVALID,
        "cannot be proven in scheduler TP0.*SPT_NOENV=1",
    ),
    "a rank's environment cannot be read": (
        _environment(_of("scheduler TP7", "NCCL_PROTO"), found=None, state="unreadable"),
        "environment_truth",
        INVALID,
        "cannot be proven in scheduler TP7.*unreadable",
    ),
    "nobody looked for a variable in one process": (
        _json(LAUNCH, lambda launch: launch["environment"]["rows"].pop()),
        "environment_truth",
        INVALID,
        "was never looked for in pid",
    ),
    "the server runs with another tp": (
        _json(LAUNCH, lambda launch: launch["server"]["server_info"].update(tp_size=4)),
        "environment_truth",
        INVALID,
        "tp_size is 4 in the server, 8 in the rig",
    ),
    "the control arm speculates": (
        _json(LAUNCH, lambda launch: launch["server"]["server_info"].update(speculative_algorithm="EAGLE3")),
        "environment_truth",
        INVALID,
        "runs with speculation",
    ),
    "a finding at the start": (
        _finding("slate-start.json", "unclean", "GPU 3: 1894 MiB are allocated, held by nobody known"),
        "clean_slate",
        INVALID,
        "not clean session start: GPU 3: 1894 MiB.*end it",
    ),
    "something cannot be seen at the end": (
        _finding("slate-end.json", "unknown", "nvidia-smi does not answer"),
        "clean_slate",
        INVALID,
        "not clean session end: cannot be told: nvidia-smi does not answer",
    ),
    "a marked process is left over": (
        _json("slate-end.json", lambda slate: slate["leftovers"].append(_SURVIVOR)),
        "clean_slate",
        INVALID,
        "1 processes of a gate run are still there.*4711",
    ),
    "a process survived the stop": (
        _json(LAUNCH, lambda launch: launch["stop"]["survivors"].append(_SURVIVOR)),
        "decode_throughput",
        INVALID,
        "1 processes survived the stop.*kill -KILL 4711",
    ),
    "the server was dead at the end": (
        _json(LAUNCH, lambda launch: launch["liveness"].update(alive=False, answered=False, why="signal 9")),
        "decode_throughput",
        INVALID,
        "dead after the last generation.*signal 9",
    ),
    "the server was mute at the end": (
        _json(LAUNCH, lambda launch: launch["liveness"].update(answered=False, why="no answer within 3 s")),
        "decode_throughput",
        INVALID,
        "alive but mute after the last generation",
    ),
    "the launch was never finished": (
        _json(LAUNCH, lambda launch: launch.update(liveness=None)),
        "decode_throughput",
        INVALID,
        "never finished",
    ),
    "a stream was cut": (_cut, "decode_throughput", INVALID, "1 of .* generations failed .1 cut"),
    "prompts came from the cache": (_counts_wrong, "cache_state", INVALID, "came from the prefix cache"),
    "the GPUs throttled": (
        _held_back,
        "decode_throughput",
        INVALID,
        "8 GPUs slowed down.*sw_thermal_slowdown",
    ),
    "somebody else computed": (
        _visited,
        "decode_throughput",
        INVALID,
        "somebody else computed on GPU 5.*4711",
    ),
    "nobody watched the GPUs": (
        _blind,
        "decode_throughput",
        INVALID,
        "nobody watched the GPUs: nothing is known",
    ),
    "the watching ended after one row": (
        _short,
        "decode_throughput",
        INVALID,
        "nothing is known of them in .* the rows begin after its start or end before its end",
    ),
    "the telemetry is gone": (
        _json(LAUNCH, lambda launch: launch.update(telemetry=None)),
        "decode_throughput",
        INVALID,
        "nobody watched the GPUs: the rig .* has 8, launch.json holds no telemetry",
    ),
    "the telemetry is of no GPU": (
        _json(LAUNCH, lambda launch: launch["telemetry"].update(gpus=0)),
        "decode_throughput",
        INVALID,
        "nobody watched the GPUs: the rig .* has 8, the telemetry is of 0",
    ),
    "memory was in use and nobody made a finding of it": (
        _json("slate-start.json", lambda slate: slate["gpus"][5].update(allocated_mib=1894.0)),
        "clean_slate",
        INVALID,
        "GPU 5 has 1894 MiB allocated session start, and nobody made a finding of it",
    ),
}


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
