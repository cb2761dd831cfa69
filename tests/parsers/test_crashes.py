"""Pairs under data/crashes: a log of our own making, in a form that servers really print, and its cause."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.parsers import mutations
from tokgate.parsers.cause_reading import CauseReading
from tokgate.parsers.crash_rules import CrashCause
from tokgate.parsers.crashes import find_cause

DATA = Path(__file__).parent / "data" / "crashes"
CASES = sorted(path.stem for path in DATA.glob("*.log"))


def read(case: str) -> CauseReading | None:
    return find_cause((DATA / f"{case}.log").read_bytes().decode())


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    reading = read(case)
    expected = json.loads((DATA / f"{case}.json").read_text())
    assert (reading.model_dump(mode="json", exclude_defaults=True) if reading else None) == expected


def test_every_cause_has_a_pair() -> None:
    assert {reading.cause for case in CASES if (reading := read(case))} == set(CrashCause)


def test_a_healthy_log_has_no_cause() -> None:
    assert read("healthy") is None
    assert read("empty") is None


def test_many_ranks_that_report_one_hang_are_one_finding_and_a_later_kill_is_no_memory_shortage() -> None:
    reading = read("hang_on_all_ranks_then_killed")
    assert reading is not None
    assert (reading.cause, reading.ranks) == (CrashCause.HANG, ("TP0", "TP1", "TP2", "TP3"))
    assert "memory" not in reading.headline


def test_the_advice_to_raise_the_fraction_is_not_relayed_where_raising_runs_out_of_memory() -> None:
    reading = read("fits_at_no_fraction")
    assert reading is not None
    assert "increase" not in reading.headline


def test_what_is_only_likely_says_suspect() -> None:
    for case in ("rank_killed_by_9", "only_killed"):
        reading = read(case)
        assert reading is not None
        assert reading.suspect
        assert "suspect" in reading.headline
    sibling = read("rank_ended_by_a_sibling")
    assert sibling is not None
    assert "earlier in the log" in sibling.headline
    assert "memory" not in sibling.headline


def test_a_missing_helper_of_a_running_server_is_not_a_missing_python() -> None:
    reading = read("hang_newer_words")
    assert reading is not None
    assert reading.cause is CrashCause.HANG


@pytest.mark.parametrize("mutate", mutations.ALL, ids=lambda mutate: mutate.__name__)
def test_no_damage_makes_it_raise_or_quote_without_end(mutate: mutations.Mutation) -> None:
    rng = random.Random(7)
    for case in CASES:
        data = (DATA / f"{case}.log").read_bytes()
        for _ in range(15):
            reading = find_cause(mutate(rng, data).decode("utf-8", "backslashreplace"))
            if reading is not None:
                assert len(reading.headline) <= 500
                assert len(reading.evidence) <= 6
                assert all(len(line) <= 500 for line in reading.evidence)


def test_a_long_log_is_read_in_reasonable_time() -> None:
    line = "[2026-03-02 10:01:13 TP0] Decode batch, #running-req: 1, #token: 42, cuda graph: True, #queue-req: 0\n"
    assert find_cause(line * 20_000 + "sh: 1: x: not found\n" + "Killed\n") is not None
