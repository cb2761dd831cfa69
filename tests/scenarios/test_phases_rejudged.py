"""What the instruments bring home is missing, torn, foreign or too little: one good run, its files changed, judged again."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tokgate.records import LaunchEvidence, Verdict
from tokgate.session.stored import StoredSession
from tokgate.verdicts.checks.phases_agree import phases_agree
from tokgate.verdicts.checks.verify_latency import verify_latency
from tokgate.verdicts.checks.verify_share import verify_share

from .expecting import INCONCLUSIVE, INVALID, PASS
from .gate_run import GateRun
from .selecting import CARRIER
from .stored import StoredRun

BUDGETED, FREE = "single", "conc8"  # the rig has a budget for verify on the first alone
PROBE = f"launches/{CARRIER}/probe"


@pytest.fixture
def stored(phases: GateRun, tmp_path: Path) -> StoredRun:
    assert phases.outcome(check="verify_latency") == PASS, phases.told()
    return StoredRun.copied(phases.folder, tmp_path / "run")


def carrier(run: StoredRun) -> tuple[StoredSession, LaunchEvidence]:
    session = StoredSession(run.folder)
    session.open()
    (launch,) = (e for e in session._evidence.launches if e.launch.id == CARRIER)
    return session, launch


def judged(run: StoredRun, workload: str) -> dict[str, list[Verdict]]:
    session, launch = carrier(run)
    found: Iterable[Verdict] = (
        *verify_latency(session.rig, launch, workload),
        *verify_share(session.rig, launch, workload),
        *phases_agree(session.rig, launch, workload),
    )
    by_check: dict[str, list[Verdict]] = {}
    for verdict in found:
        by_check.setdefault(verdict.check, []).append(verdict)
    return by_check


def outcome(verdicts: Sequence[Verdict]) -> str:
    """Return the one that stands for several: that of the first, which names the budget where there is one."""
    worst = [v.outcome.value for v in verdicts]
    return next(o for o in ("regressed", INVALID, INCONCLUSIVE, PASS) if o in worst)


def words(verdicts: Iterable[Verdict]) -> str:
    return " | ".join(" ".join((v.headline, *v.evidence, *v.warnings, v.do or "")) for v in verdicts)


def files(run: StoredRun) -> list[Path]:
    found = sorted((run.folder / PROBE).glob("*.jsonl"))
    assert len(found) == 8
    return found


def each(change: Callable[[list[str]], list[str]]) -> Callable[[StoredRun], None]:
    """Change the lines of every file of the probe."""

    def apply(run: StoredRun) -> None:
        for file in files(run):
            lines = change(file.read_text(encoding="utf-8").splitlines())
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    return apply


def header(**new: Any) -> Callable[[StoredRun], None]:
    return each(lambda lines: [json.dumps(json.loads(lines[0]) | new), *lines[1:]])


def _gone(run: StoredRun) -> None:
    for file in files(run):
        file.unlink()


def _never_looked(run: StoredRun) -> None:
    _gone(run)
    (run.folder / PROBE / "left.json").unlink()


def _emptied(run: StoredRun) -> None:
    for file in files(run):
        file.write_bytes(b"")


def _first_half(run: StoredRun) -> None:
    """The disk was full from the middle on, and the last line did not fit any more."""
    for file in files(run):
        text = file.read_bytes()
        file.write_bytes(text[: len(text) // 2])


_NOTHING_HOOKED = {
    "hooked": [],
    "missing": ["sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify"],
    "failed": "this SGLang has none of the names looked for",
}

UNKNOWN: dict[str, tuple[Callable[[StoredRun], None], str]] = {
    # what is changed: how, and what the check must say then
    "the probe's files are gone": (_gone, "no scheduler has written a file of the probe.*tokgate_probe"),
    "the launch broke off before anybody looked": (_never_looked, "broke off before"),
    "the files are empty": (_emptied, "is empty: .*the disk is full"),
    "the files are of another run": (header(mark="yesterday/05"), "is of another run.*yesterday/05"),
    "the files carry no mark": (header(mark=None), "is of another run: it carries no mark"),
    "the first lines are torn": (each(lambda lines: [lines[0][:200], *lines[1:]]), "has no header"),
    "methods were renamed": (
        lambda run: (each(lambda lines: lines[:1])(run), header(**_NOTHING_HOOKED)(run))[-1],
        r"none of the names looked for|EAGLEWorkerV2\.verify",
    ),
    "hooks were put in and never called": (
        each(lambda lines: [lines[0], lines[-1]]),
        "has no call: nothing was decoded, or the switch was off",
    ),
    "the disk was full from the middle on": (_first_half, r"tells of verify in \d of 6 starts|no call of it"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_a_budget_without_a_source_is_invalid_and_says_why(stored: StoredRun, what: str) -> None:
    change, asked = UNKNOWN[what]
    change(stored)
    found = judged(stored, BUDGETED)
    told = found["verify_latency"]
    assert outcome(told) == INVALID, words(told)
    assert re.search(asked, words(told)), words(told)
    assert not re.search(r"verify p50 \d", words(told)), "something stands in for what is not known"
    # The cycle and the device timer are still there, and are not taken for it.
    assert "the cycle never stands in for a phase" in words(told)
    assert outcome(found["phases_agree"]) in (PASS, INCONCLUSIVE)


@pytest.mark.parametrize("what", [name for name in UNKNOWN if name != "the disk was full from the middle on"])
def test_without_a_budget_it_is_left_open(stored: StoredRun, what: str) -> None:
    UNKNOWN[what][0](stored)
    assert outcome(judged(stored, FREE)["verify_latency"]) == INCONCLUSIVE


def _torn(run: StoredRun) -> None:
    """Every server that is killed leaves this."""
    for file in files(run):
        lines = file.read_bytes().splitlines(keepends=True)
        assert b'"end"' in lines[-1]
        file.write_bytes(b"".join(lines[:-1]) + b'["verify", 19.0')


def _noise(run: StoredRun) -> None:
    """Half lines in the middle, as failed writes leave them, what nobody wrote on purpose, and a line without end."""
    for file in files(run):
        first, *rest = file.read_bytes().splitlines(keepends=True)
        odd = b'["verify", 1\n' + b"\xff\xfe\x00\n" + b'["verify", -1, "x", 7, []]\n' + b"[" * 300_000 + b"\n"
        file.write_bytes(first + odd + b"".join(rest))


@pytest.mark.parametrize("change", [_torn, _noise])
def test_what_is_whole_in_a_damaged_file_counts_and_the_rest_is_told(
    stored: StoredRun, phases: GateRun, change: Callable[[StoredRun], None]
) -> None:
    change(stored)
    told = judged(stored, BUDGETED)["verify_latency"]
    assert outcome(told) == PASS, words(told)
    (before,) = phases.verdicts(check="verify_latency", metric="verify_ms", workload=BUDGETED)
    assert next(v for v in told if v.metric == "verify_ms").value == before["value"]
    assert re.search("torn|no end|nested too deeply", words(told)), words(told)


def test_records_that_were_lost_are_told(stored: StoredRun) -> None:
    lost = json.dumps({"dropped": 7, "why": "No space left on device"})
    each(lambda lines: [*lines[:-1], lost, lines[-1].replace('"dropped": 0', '"dropped": 7')])(stored)
    told = judged(stored, BUDGETED)["verify_latency"]
    assert re.search("7 records.*No space left on device", words(told)), words(told)


def test_a_rank_that_is_silent_is_named(stored: StoredRun) -> None:
    """The slowest rank counts: one that nobody has heard of might be it."""
    for file in files(stored):
        if json.loads(file.read_text(encoding="utf-8").splitlines()[0])["rank"] == 5:
            file.unlink()
    _, launch = carrier(stored)
    assert launch.phases is not None
    assert re.search(r"scheduler of rank 5 \(pid \d+\) has written no file", launch.phases.unknown["probe"])
    told = judged(stored, BUDGETED)["verify_latency"]
    assert "rank 5" in words(told), words(told)


def _scrape(when: str) -> str:
    return f"launches/{CARRIER}/metrics-{BUDGETED}-{when}.prom"


def _reset(run: StoredRun) -> None:
    """The server was restarted between the scrapes: its counters begin anew."""
    before, after = (run.folder / _scrape(when) for when in ("before", "after"))
    text = before.read_text(encoding="utf-8")
    before.write_text(after.read_text(encoding="utf-8"), encoding="utf-8")
    after.write_text(text, encoding="utf-8")


def _no_scrape(run: StoredRun) -> None:
    (run.folder / _scrape("after")).unlink()


def _error_page(run: StoredRun) -> None:
    (run.folder / _scrape("after")).write_text("<html>502 Bad Gateway</html>")


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (_reset, f"{BUDGETED}: .*(went down|restart|reset)"),
        (_no_scrape, f"{BUDGETED}: a scrape of /metrics is missing"),
        (_error_page, f"{BUDGETED}: "),
    ],
)
def test_a_device_timer_that_cannot_be_read_makes_no_reading(
    stored: StoredRun, change: Callable[[StoredRun], None], asked: str
) -> None:
    change(stored)
    _, launch = carrier(stored)
    assert launch.phases is not None
    assert re.search(asked, launch.phases.unknown["device-timer"]), launch.phases.unknown
    by_timer = [r for r in launch.phases.readings if r.source == "device-timer"]
    assert {r.workload for r in by_timer} == {FREE}
    # The probe tells of verify by itself, and has the cycle beside it.
    found = judged(stored, BUDGETED)
    assert outcome(found["verify_latency"]) == PASS
    assert outcome(found["phases_agree"]) == PASS


def test_phases_longer_than_their_cycle_are_believed_by_nobody(stored: StoredRun) -> None:
    def longer(lines: list[str]) -> list[str]:
        calls = [json.loads(line) for line in lines]
        for call in calls:
            if isinstance(call, list) and call[0] in ("verify", "step"):
                call[1] += 9.0
        return [json.dumps(call) for call in calls]

    each(longer)(stored)
    told = judged(stored, BUDGETED)["phases_agree"]
    assert outcome(told) == INVALID
    assert re.search(r"sum of phases \(probe, rank \d\) against the cycle: .*outside", words(told)), words(
        told
    )


@pytest.mark.slow
def test_a_file_of_a_hundred_megabytes_is_read_in_time_and_no_further(stored: StoredRun) -> None:
    """Whatever wrote it: the session brings home 32 MiB of a file at most, and a stored folder may hold anything."""
    file = files(stored)[0]
    line = file.read_text(encoding="utf-8").splitlines()[5] + "\n"
    with file.open("a", encoding="utf-8") as out:
        for _ in range(100):
            out.write(line * ((1 << 20) // len(line)))
    began = time.process_time()
    _, launch = carrier(stored)
    assert time.process_time() - began < 60
    assert launch.phases is not None
    warned = " ".join(w for r in launch.phases.readings for w in r.warnings)
    assert "more than the 1000000 that are kept" in warned
