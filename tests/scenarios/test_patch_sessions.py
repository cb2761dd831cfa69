"""A change of SGLang's sources against its base, from the options to the exit code."""

from __future__ import annotations

import re

import pytest

from .gate_run import GateRun, rejudge, words_of
from .patch_stories import WORKER

pytestmark = pytest.mark.slow


def test_a_delay_in_verify_is_called_on_both_sides_of_at_least_two_runs(costs: GateRun) -> None:
    assert costs.code == 13, costs.told()
    (lost,) = costs.verdicts(check="patch", metric="decode_tok_s")
    assert lost["outcome"] == "regressed", costs.told()
    assert -0.075 < lost["change"] < -0.045
    assert lost["interval"][0] < lost["change"] < lost["interval"][1] < 0
    sides = [costs.launch(one)["launch"]["side"] for one in lost["launches"]]
    assert min(sides.count("head"), sides.count("base")) >= 2
    assert costs.verdict["patch"]["patch"]["words"].startswith("yes: decode -")


def test_each_launch_is_proven_to_have_run_its_side_and_nothing_is_left_on_the_host(costs: GateRun) -> None:
    for launch in costs.files("launches/*/launch.json"):
        told = costs.launch(launch.parent.name)
        assert told["ran_from"]["why"] == []
        assert told["ran_from"]["side"] == told["launch"]["side"]
    head = next(s for s in costs.verdict["patch"]["sides"] if s["name"] == "head")
    assert head["changed"] == [WORKER]
    assert not list((costs.folder.parents[1] / "work" / "sides").glob("*"))


def test_restarts_come_the_other_way_round(costs: GateRun) -> None:
    launches = [costs.launch(path.parent.name)["launch"] for path in costs.files("launches/*/launch.json")]
    timed = [one for one in launches if one["role"] not in ("instrumented", "side-phases")]
    sides = [one["side"] for one in sorted(timed, key=lambda one: one["id"])]
    assert sides[:4] == ["head", "base", "base", "head"], sides


def test_one_line_says_which_phase_it_is_since_both_sides_were_launched_with_instruments(
    costs: GateRun,
) -> None:
    (lost,) = costs.verdicts(check="patch", metric="decode_tok_s")
    found = re.match(
        r"the change costs \S+ % \[\S+ \S+, verify \+([\d.]+)\b.* ms of the \+(\S+) ms a cycle: ",
        lost["headline"],
    )
    assert found, lost["headline"]
    assert float(found[1]) > 0.5 * float(found[2]), (
        "one launch a side: on a busy machine other phases move as well"
    )
    launches = [costs.launch(path.parent.name)["launch"] for path in costs.files("launches/*/launch.json")]
    assert sorted(one["role"] for one in launches if one["role"] in ("instrumented", "side-phases")) == [
        "instrumented",
        "side-phases",
    ]
    said = " ".join(costs.said.split())
    assert lost["headline"] in said, "wrapped, and nowhere cut"


def test_its_folder_alone_says_the_same(costs: GateRun) -> None:
    again = rejudge(costs.folder, "-m", "patch", "-k", "eagle3-2step")
    assert again.code == costs.code
    assert again.verdicts() == costs.verdicts()


def test_a_comment_costs_nothing(nothing: GateRun) -> None:
    assert nothing.code == 0, nothing.told()
    assert nothing.outcome(check="patch") == "pass"
    assert nothing.verdict["patch"]["patch"]["words"].startswith("no: ")


def test_a_change_that_breaks_the_start_is_invalid_with_its_own_line(breaks: GateRun) -> None:
    assert breaks.code == 11, breaks.told()
    (lost,) = breaks.verdicts(check="patch")
    assert lost["outcome"] == "invalid"
    assert "No module named 'sglang.srt.nowhere'" in lost["headline"]
    assert f"the traceback ends in the change ({WORKER}, line 30), the base starts" in lost["headline"]
    assert "ModuleNotFoundError" in words_of(lost)
    assert "exit code 11: the change breaks the start" in " ".join(breaks.said.split())
