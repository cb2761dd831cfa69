"""What goes wrong has a name, an outcome, an exit code and a next step, each its own."""

from __future__ import annotations

import re

import pytest

from .checkout import CONTROL, GateRun

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("gate")]


def of_arm(run: GateRun, arm: str, check: str = "decode_throughput") -> dict[str, str]:
    """Return the one verdict of a check on an arm's single stream."""
    (verdict,) = run.verdicts(check=check, arm=arm, workload="single")
    return verdict


# ------------------------------------------------------------------ while it is measured
def test_a_fault_while_measuring_makes_the_session_invalid(measuring: GateRun) -> None:
    assert (measuring.code, measuring.outcome) == (11, "invalid"), measuring.said
    assert measuring.outcomes(arm="baseline") <= {"pass", "no-baseline"}, "the control arm was fine"


@pytest.mark.parametrize(
    ("arm", "headline", "do"),
    [
        ("dies", "dead after the last generation (the server was ended by signal 9)", "server.log"),
        ("hangs", "alive but mute after the last generation (no answer within 3 s", "server.log"),
        ("refuses", "alive but mute after the last generation (HTTP 500", "server.log"),
        ("cuts", "1 cut", "raw body"),
        ("warmup", "1 cut", "raw body"),
    ],
)
def test_no_number_of_a_server_that_went_wrong(measuring: GateRun, arm: str, headline: str, do: str) -> None:
    verdict = of_arm(measuring, arm)
    assert verdict["outcome"] == "invalid"
    assert headline in verdict["headline"]
    assert do in verdict["do"]
    assert verdict["headline"][:60] in " ".join(measuring.said.split())
    assert of_arm(measuring, arm, "speculation_beats_its_twin")["outcome"] == "invalid"


def test_prefix_cache_hits_are_named(measuring: GateRun) -> None:
    verdict = of_arm(measuring, "reuses", "cache_state")
    assert verdict["outcome"] == "invalid"
    assert "came from the prefix cache" in verdict["headline"]
    assert "/flush_cache" in verdict["do"]


def test_a_variable_lost_on_the_way_is_named_with_its_process(measuring: GateRun) -> None:
    headlines = [v["headline"] for v in measuring.verdicts(check="environment_truth", arm="drops")]
    assert any("NCCL_PROTO absent from scheduler" in text for text in headlines), headlines
    assert of_arm(measuring, "drops")["outcome"] == "invalid"


@pytest.mark.parametrize(
    ("launch", "killed"), [("02-dies", False), ("03-hangs", False), ("04-refuses", False)]
)
def test_what_is_left_of_it_is_stopped(measuring: GateRun, launch: str, killed: bool) -> None:
    stop = measuring.launch(launch)["stop"]
    assert stop["survivors"] == []
    assert stop["killed"] is killed


def test_what_came_before_the_fault_is_kept(measuring: GateRun) -> None:
    for launch in ("02-dies", "03-hangs", "04-refuses", "05-cuts"):
        kept = (measuring.folder / "launches" / launch / "generations.jsonl").read_text().splitlines()
        assert len(kept) >= 3, launch
        assert measuring.log(launch)


# ------------------------------------------------------------------ speculation that is no good
def test_speculation_that_is_no_good_is_a_regression(speculating: GateRun) -> None:
    assert (speculating.code, speculating.outcome) == (13, "regressed"), speculating.said


@pytest.mark.parametrize(
    ("arm", "check", "workload", "headline", "do"),
    [
        ("useless", "acceptance_length", "single", "on and useless", "draft"),
        ("useless", "speculation_beats_its_twin", "single", "below 1.2x", "break-even"),
        ("slow", "speculation_beats_its_twin", "single", "below 1.2x", "break-even"),
        ("garbles", "lossless", "lossless", "changes the output", "raw bodies"),
    ],
)
def test_each_is_named(  # noqa: PLR0917 - the columns of the table above
    speculating: GateRun, arm: str, check: str, workload: str, headline: str, do: str
) -> None:
    (verdict,) = speculating.verdicts(check=check, arm=arm, workload=workload)
    assert verdict["outcome"] == "regressed"
    assert headline in verdict["headline"]
    assert do in verdict["do"]


def test_and_only_that(speculating: GateRun) -> None:
    found = {(v["arm"], v["check"]) for v in speculating.verdicts(outcome="regressed")}
    assert found == {
        ("useless", "acceptance_length"),
        ("useless", "speculation_beats_its_twin"),
        ("slow", "speculation_beats_its_twin"),
        ("garbles", "lossless"),
    }


# ------------------------------------------------------------------ servers that do not go
def test_a_slow_stop_costs_no_verdict(stopping: GateRun) -> None:
    assert (stopping.code, stopping.outcome) == (0, "pass"), stopping.said


@pytest.mark.parametrize("launch", ["02-stubborn", "03-orphan"])
def test_what_does_not_go_is_killed(stopping: GateRun, launch: str) -> None:
    stop = stopping.launch(launch)["stop"]
    assert stop["asked"] == "term"
    assert stop["killed"] is True
    assert stop["survivors"] == []


def test_what_goes_is_not_killed(stopping: GateRun) -> None:
    assert stopping.launch(CONTROL)["stop"]["killed"] is False


# ------------------------------------------------------------------ servers that do not come
def test_a_start_that_fails_makes_the_session_invalid(starting: GateRun) -> None:
    assert (starting.code, starting.outcome) == (11, "invalid"), starting.said
    assert starting.outcomes(arm="baseline") == {"pass"}


@pytest.mark.parametrize(
    ("arm", "cause", "do"),
    [
        ("mute", "empty-log", "by hand"),
        ("silent", "silent", "where it hangs"),
        ("memory", "does-not-fit", "GPU memory"),
    ],
)
def test_the_cause_of_a_failed_start(starting: GateRun, arm: str, cause: str, do: str) -> None:
    verdict = of_arm(starting, arm)
    assert verdict["outcome"] == "invalid"
    assert f"cause: {cause}" in verdict["evidence"]
    assert do in verdict["do"]


@pytest.mark.parametrize(
    ("name", "cause", "do"),
    [
        ("no-python", "no-such-python", "server.python"),
        ("no-module", "no-such-module", "server.module"),
        ("no-model", "no-such-model", "server.model_path"),
    ],
)
def test_what_is_wrong_with_the_rig(refused: dict[str, GateRun], name: str, cause: str, do: str) -> None:
    run = refused[name]
    assert (run.code, run.outcome) == (11, "invalid"), run.said
    verdict = of_arm(run, "baseline")
    assert f"cause: {cause}" in verdict["evidence"]
    assert do in verdict["do"]
    assert do in run.said
    assert run.launched == [CONTROL]


def test_a_taken_port(refused: dict[str, GateRun]) -> None:
    run = refused["port-taken"]
    assert (run.code, run.outcome) == (11, "invalid"), run.said
    assert re.search(r"port \d+ is taken by .*python", of_arm(run, "baseline")["headline"])
    assert "choose another port" in of_arm(run, "baseline")["do"]


def test_a_work_folder_that_cannot_be_written(refused: dict[str, GateRun]) -> None:
    run = refused["not-writable"]
    assert (run.code, run.outcome) == (11, "invalid"), run.said
    assert "a-file/work" in run.verdict["headline"]
    assert "host.work_dir" in run.verdict["do"]


def test_a_process_of_an_earlier_run(refused: dict[str, GateRun]) -> None:
    run = refused["leftover"]
    assert (run.code, run.outcome) == (11, "invalid"), run.said
    headline = of_arm(run, "baseline")["headline"]
    assert "20200101T000000-standin/01-baseline" in headline
    assert "kill" in of_arm(run, "baseline")["do"]
    assert run.launch(CONTROL)["server"] is None, "it was measured beside the leftover"
