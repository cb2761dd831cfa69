"""The controlling pytest is killed or interrupted while hosts measure."""

from __future__ import annotations

import pytest

from .stories import Ended

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_servers_ran_on_both_hosts_before(ended: Ended) -> None:
    assert all(count > 3 for count in ended.alive_before.values()), ended.alive_before


def test_no_process_and_no_lease_is_left_on_any_host(ended: Ended) -> None:
    assert ended.left == {}, ended.said


def test_no_shift_counts_as_measured(ended: Ended) -> None:
    assert {shift["state"] for shift in ended.shifts} <= {"broken off", "measuring"}


def test_an_interrupted_session_says_so_and_reports(ended: Ended) -> None:
    if ended.code < 0:
        pytest.skip("killed: nobody is left to report")
    assert (ended.code, ended.reported) == (2, True), ended.said
    assert "ending: servers are being stopped on a, b" in ended.said


def test_another_gate_is_told_who_has_each_host_and_gets_none(ended: Ended) -> None:
    run = ended.second
    assert (run.code, run.verdict["outcome"]) == (11, "invalid"), run.said
    assert [shift["state"] for shift in run.fleet["shifts"]] == ["refused", "refused"]
    for host in run.fleet["hosts"]:
        assert any("held since" in note and "pid" in note for note in host["notes"]), "at admission already"
    assert "another gate is at work" in run.verdict["headline"]


def test_a_gate_that_is_stopped_for_longer_than_a_lease_lives_keeps_its_hosts(ended: Ended) -> None:
    """Its process lives, and comes back."""
    assert ended.held == {"a": True, "b": True}, ended.second.said
    if ended.code < 0:
        pytest.skip("it was not stopped")
    for host in ended.second.fleet["hosts"]:
        assert any(note.endswith("which is stopped") for note in host["notes"]), host["notes"]
    assert "it is stopped, and lives: pid" in ended.second.verdict["headline"]
