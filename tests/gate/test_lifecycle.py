"""The gate's own end: killed, interrupted, beside another gate."""

from __future__ import annotations

import pytest

from .stories import Interrupted, Killed


def test_a_killed_gate_leaves_no_process_behind(killed: Killed) -> None:
    names = set(killed.alive_before.values())
    assert {"sglang::schedul", "sglang::detoken"} <= names
    assert len(names) >= 3, "the server itself"
    assert killed.gone_after_s < 15


def test_a_server_that_the_gate_did_not_start_is_left_alone(killed: Killed) -> None:
    assert killed.bystander_lives


def test_the_next_gate_takes_the_lease_over_and_says_so(killed: Killed) -> None:
    run = killed.third
    # It measures; what it concludes is the machine's business: a busy one makes it inconclusive, or its warm-up longer.
    assert (run.code, run.outcome) in ((0, "pass"), (10, "inconclusive"), (11, "invalid")), run.said
    assert all(run.launch(name)["liveness"]["answered"] for name in run.launched), run.said
    assert run.launched
    notes = [finding["what"] for slate in run.verdict["slates"] for finding in slate["findings"]]
    told = f"a stale lease of {killed.first} was taken over"
    assert [note for note in notes if note.startswith(told)], notes
    assert told in " ".join(run.said.split())


def test_the_next_gate_removes_what_the_killed_one_left_on_the_host(killed: Killed) -> None:
    before, after = killed.folders
    assert [name.startswith(f"{killed.first}-") for name in before] == [True]
    assert after == []
    assert "removed the folders that killed gates had left in" in " ".join(killed.third.said.split())


def test_a_second_gate_is_invalid_and_names_the_first(killed: Killed) -> None:
    run = killed.second
    assert (run.code, run.outcome) == (11, "invalid"), run.said
    assert "LeaseFault" not in run.said
    assert "another gate is at work on local" in run.verdict["headline"]
    assert killed.first in run.verdict["headline"]
    assert "wait until it is done" in run.verdict["do"]
    assert run.launched == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_gate_stops_its_server_and_reports(
    interrupted: dict[str, Interrupted], name: str
) -> None:
    told = interrupted[name]
    assert told.left == {}
    assert (told.run.code, told.run.outcome) == (2, "interrupted"), told.run.said
    launch = told.run.launch("01-baseline")
    assert launch["stop"]["survivors"] == []
    assert (told.run.folder / "report.html").exists()
    assert told.run.verdict["launches"][0]["generations"]["good"] >= 1
