"""What goes wrong has a name, an outcome, an exit code and a next step, each its own."""

from __future__ import annotations

import re

import pytest

from .checkout import CONTROL, GateRun


def of_arm(run: GateRun, arm: str, check: str = "decode_throughput") -> dict[str, str]:
    """Return the one verdict of a check on an arm's single stream."""
    (verdict,) = run.verdicts(check=check, arm=arm, workload="single")
    return verdict


# ------------------------------------------------------------------ while it is measured
def test_any_such_fault_makes_the_session_invalid(failing: GateRun) -> None:
    assert (failing.code, failing.outcome) == (11, "invalid"), failing.said


def test_its_folder_alone_says_the_same(failing: GateRun, failing_judged_again: GateRun) -> None:
    assert failing_judged_again.code == failing.code
    assert failing_judged_again.verdicts() == failing.verdicts()


def test_the_other_launches_are_judged_all_the_same(failing: GateRun) -> None:
    assert failing.outcomes(arm="baseline") == {"pass", "no-baseline"}


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
def test_no_number_of_a_server_that_went_wrong(failing: GateRun, arm: str, headline: str, do: str) -> None:
    verdict = of_arm(failing, arm)
    assert verdict["outcome"] == "invalid"
    assert headline in verdict["headline"]
    assert do in verdict["do"]
    told = " ".join(failing.said.split())
    # Of several tests with the same next step the first is told in full: what to do is never left out.
    assert verdict["do"] in told
    _, cause = of_arm(failing, "cuts")["headline"].split(": ", 1)
    assert cause[:40] in told
    assert of_arm(failing, arm, "speculation_beats_its_twin")["outcome"] == "invalid"


def test_prefix_cache_hits_are_named(failing: GateRun) -> None:
    verdict = of_arm(failing, "reuses", "cache_state")
    assert verdict["outcome"] == "invalid"
    assert "came from the prefix cache" in verdict["headline"]
    assert "/flush_cache" in verdict["do"]


def test_a_variable_lost_on_the_way_is_named_with_its_process(failing: GateRun) -> None:
    headlines = [v["headline"] for v in failing.verdicts(check="environment_truth", arm="drops")]
    assert any("NCCL_PROTO absent from scheduler" in text for text in headlines), headlines
    assert of_arm(failing, "drops")["outcome"] == "invalid"


@pytest.mark.parametrize(
    ("launch", "asked"), [("02-dies", "none"), ("03-hangs", "term"), ("04-refuses", "term")]
)
def test_what_is_left_of_it_is_stopped(failing: GateRun, launch: str, asked: str) -> None:
    stop = failing.launch(launch)["stop"]
    assert stop["asked"] == asked
    assert stop["survivors"] == []


def test_what_came_before_the_fault_is_kept(failing: GateRun) -> None:
    for launch in ("02-dies", "03-hangs", "04-refuses", "05-cuts"):
        kept = (failing.folder / "launches" / launch / "generations.jsonl").read_text().splitlines()
        assert len(kept) >= 3, launch
        assert failing.log(launch)


# ------------------------------------------------------------------ speculation that is no good
def test_speculation_that_is_no_good_is_a_regression(no_good: GateRun) -> None:
    assert (no_good.code, no_good.outcome) == (13, "regressed"), no_good.said


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
    no_good: GateRun, arm: str, check: str, workload: str, headline: str, do: str
) -> None:
    (verdict,) = no_good.verdicts(check=check, arm=arm, workload=workload)
    assert verdict["outcome"] == "regressed"
    assert headline in verdict["headline"]
    assert do in verdict["do"]


def test_and_only_that(no_good: GateRun) -> None:
    found = {(v["arm"], v["check"]) for v in no_good.verdicts(outcome="regressed")}
    assert found == {
        ("useless", "acceptance_length"),
        ("useless", "speculation_beats_its_twin"),
        ("slow", "speculation_beats_its_twin"),
        ("garbles", "lossless"),
    }


# ------------------------------------------------------------------ servers that do not go
@pytest.mark.parametrize("arm", ["stubborn", "orphan"])
def test_a_slow_stop_costs_no_verdict(no_good: GateRun, arm: str) -> None:
    assert no_good.outcomes(arm=arm) == {"pass", "no-baseline"}
    assert {v["outcome"] for v in no_good.verdicts(check="clean_slate")} == {"pass"}


@pytest.mark.parametrize("launch", ["05-stubborn", "06-orphan"])
def test_what_does_not_go_is_killed(no_good: GateRun, launch: str) -> None:
    stop = no_good.launch(launch)["stop"]
    assert stop["asked"] == "term"
    assert stop["killed"] is True
    assert stop["survivors"] == []


def test_what_goes_is_not_killed(no_good: GateRun) -> None:
    assert no_good.launch(CONTROL)["stop"]["killed"] is False


# ------------------------------------------------------------------ servers that do not come
@pytest.mark.parametrize(
    ("arm", "cause", "do"),
    [
        ("mute", "empty-log", "by hand"),
        ("silent", "silent", "where it hangs"),
        ("memory", "does-not-fit", "GPU memory"),
    ],
)
def test_the_cause_of_a_failed_start(failing: GateRun, arm: str, cause: str, do: str) -> None:
    verdict = of_arm(failing, arm)
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
    first, *others = run.launched
    assert first == CONTROL
    for other in others:  # the control again, since the arm is judged by all its runs: it is not even tried
        (note,) = run.launch(other)["notes"]
        assert note.startswith(f"not tried: {CONTROL} failed"), note


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
    do = of_arm(run, "baseline")["do"]
    assert "wait" in do
    assert "kill" not in do, "whoever started it lives: it may be another gate's server"
    assert run.launch(CONTROL)["server"] is None, "it was measured beside the leftover"
