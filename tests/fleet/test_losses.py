"""Hosts that are strangers, lose their network or their sshd, and a server that dies: the right outcome each, and nothing left."""

from __future__ import annotations

import pytest

from .stories import HOSTILE, Lost

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_a_host_whose_key_is_unknown_is_left_out_by_name(lost: Lost) -> None:
    host = lost.run.host("d")
    assert host["state"] == "left out"
    assert "host key is not known" in host["why"]
    assert lost.run.shifts("d") == []
    assert "d is left out" in lost.run.said


def test_a_host_without_network_is_lost_with_what_it_had_not_finished(lost: Lost) -> None:
    assert [shift["state"] for shift in lost.run.shifts("b")] == ["lost"]
    assert lost.run.host("b")["state"] == "lost"
    assert lost.run.host("b")["why"]


def test_a_host_without_sshd_is_lost_and_what_it_measured_stays_by_name(lost: Lost) -> None:
    (shift,) = lost.run.shifts("c")
    assert shift["state"] == "lost"
    assert "01-baseline" in shift["measured"]
    row = next(h for h in lost.run.verdict["fleet"]["hosts"] if h["host"] == "c")
    assert "01-baseline" in row["lost"]
    assert (lost.run.folder / "hosts" / "c" / "launches" / "01-baseline" / "generations.jsonl").exists()
    assert lost.run.verdicts(host="c") == [], "nothing of it is judged"


def test_what_was_unfinished_is_measured_anew_beside_a_control_of_its_own_host(lost: Lost) -> None:
    shifts = [s for s in lost.run.shifts("a") if s["state"] == "measured"]
    assert {group for shift in shifts for group in shift["groups"]} == {"arm-1", "arm-2", "arm-3"}
    for shift in shifts:
        assert "01-baseline" in shift["measured"]
        assert shift["measured"][-1].endswith("baseline-again")
    assert lost.run.fleet["unmeasured"] == {}


def test_a_server_that_dies_is_a_finding_and_no_lost_host(lost: Lost) -> None:
    assert lost.run.host("a")["state"] == "admitted"
    invalid = {v["arm"].partition("@")[0] for v in lost.run.verdicts(outcome="invalid") if v["arm"]}
    assert invalid == {lost.killed}, lost.run.said
    assert (lost.run.code, lost.run.verdict["outcome"]) == (11, "invalid")


def test_every_launch_and_verdict_names_its_host(lost: Lost) -> None:
    for launch in lost.run.verdict["launches"]:
        assert launch["host"].startswith("a")
        assert launch["launch"].endswith(f"@{launch['host']}")
    assert {v["host"] for v in lost.run.verdict["verdicts"]} <= {"a", "a-2"}


def test_no_process_and_no_lease_is_left_on_any_host(lost: Lost) -> None:
    assert lost.left == {}


def test_the_folder_alone_is_judged_as_the_session_was(lost: Lost) -> None:
    assert lost.again.code == lost.run.code, lost.again.said
    assert "hosts/a" in str(next((lost.run.folder / "hosts" / "a").iterdir()))


def test_hostile_words_of_a_host_are_text_in_the_report(lost: Lost) -> None:
    page = (lost.again.folder / "report.html").read_text()
    assert HOSTILE not in page
    assert "&lt;script&gt;alert" in page
    assert HOSTILE not in (lost.again.folder / "summary.md").read_text()
