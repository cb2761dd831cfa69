"""A session in which nothing is wrong: its outcomes, its files, and the same again from the files alone."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from .checkout import CONTROL, GateRun
from .stories import Green

FILES = {
    "json": ("run", "rig", "fingerprint", "slate-start", "slate-end", "verdict", "verdicts", "benchmark"),
    "html": ("report",),
    "md": ("summary",),
    "xml": ("junit",),
}
PLANNED = [CONTROL, "02-eagle3", "03-baseline-again"]
BOTH = [CONTROL, "03-baseline-again"]


def judged(run: GateRun) -> dict[tuple[str, ...], set[str]]:
    """Outcomes by check, launch and workload, but for comparisons with stored baselines."""
    found: dict[tuple[str, ...], set[str]] = {}
    for v in run.verdicts():
        if v["check"] != "stored_baseline":
            # Which quantile of the tokens is told depends on how many chunks came together in one read.
            metric = None if v["check"] == "token_latency" else v["metric"]
            key = (v["check"], str(v["launch"]), str(v["workload"]), str(metric))
            found.setdefault(key, set()).add(v["outcome"])
    return found


def test_without_a_baseline_that_is_all_that_is_missing(green: Green) -> None:
    run = green.fresh
    assert (run.code, run.outcome) == (12, "no-baseline"), run.said
    assert run.outcomes() == {"pass", "no-baseline"}
    assert {v["check"] for v in run.verdicts(outcome="no-baseline")} == {"stored_baseline"}
    assert "tokgate baseline update" in run.verdict["do"]
    assert "tokgate baseline update" in run.said


def test_the_speed_up_is_the_one_the_server_was_built_for(green: Green) -> None:
    (twin,) = green.fresh.verdicts(check="speculation_beats_its_twin", workload="single")
    assert twin["outcome"] == "pass"
    assert 1.4 < twin["change"] + 1 < 1.6
    (accepted,) = green.fresh.verdicts(check="acceptance_length", workload="single")
    assert accepted["value"] == pytest.approx(1.86, abs=0.15)


def test_every_planned_launch_was_made_once(green: Green) -> None:
    for run, started in ((green.fresh, green.servers_fresh), (green.again, green.servers_again)):
        assert run.launched == PLANNED
        assert started == 2 * len(PLANNED)  # a start and a stop each


def test_no_two_servers_ever_ran_at_once(green: Green) -> None:
    events = [stamp["event"] for stamp in green.again.checkout.servers()]
    assert events == ["start", "stop"] * (len(events) // 2)


def test_with_the_baseline_stored_everything_passes(green: Green) -> None:
    code, said = green.update
    assert code == 0, said
    run = green.again
    assert (run.code, run.outcome) == (0, "pass"), run.said
    assert run.outcomes(check="stored_baseline") == {"pass"}
    assert run.verdict["do"] is None
    assert list((run.folder / "baselines").rglob("*.json")), "the baselines used are not kept beside the run"
    assert green.append[0] == 0, green.append[1]


def test_xdist_changes_no_verdict(green: Green) -> None:
    assert judged(green.again) == judged(green.fresh)


def test_report_rebuilds_the_run_from_its_folder(green: Green) -> None:
    assert green.report.code == green.again.code, green.report.said
    assert green.report.verdicts() == green.again.verdicts()


def test_pytest_benchmark_reads_our_files(green: Green) -> None:
    code, said = green.compared
    assert code == 0, said
    for run in (green.fresh, green.again):
        for series in ("single[01-baseline]", "single[02-eagle3]", "pair[02-eagle3]"):
            assert series in said
        assert run.folder.name in said


def test_junit_tells_the_outcome(green: Green) -> None:
    suite = ET.parse(green.fresh.folder / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    properties = {p.get("name"): p.get("value") for p in suite.findall("./properties/property")}
    assert properties["tokgate.outcome"] == "no-baseline"
    assert properties["tokgate.exit_code"] == "12"
    assert suite.findall("./testcase/properties/property")


def test_the_page_is_one_file_and_says_it_is_simulated(green: Green) -> None:
    page = (green.fresh.folder / "report.html").read_text()
    assert "no-baseline" in page
    assert "simulated" in page.lower()
    for outside in ('src="http', "src='http", '<link rel="stylesheet" href', "@import"):
        assert outside not in page


def test_latest_points_to_the_newest_run(green: Green) -> None:
    latest = green.again.checkout.root / "reports" / "latest"
    assert latest.is_symlink()
    assert latest.resolve() == green.slower.folder


def test_the_files_of_a_run(green: Green) -> None:
    for kind, names in FILES.items():
        for name in names:
            assert (green.fresh.folder / f"{name}.{kind}").stat().st_size > 0, name
    for launch in PLANNED:
        folder = green.fresh.folder / "launches" / launch
        kept = {path.name for path in folder.iterdir()}
        assert {"launch.json", "generations.jsonl", "server.log", "bodies"} <= kept
        assert {"environment.json", "server_info.json", "metrics-before.prom", "metrics-after.prom"} <= kept
        assert "fired up and ready to roll" in green.fresh.log(launch)
        generations = (folder / "generations.jsonl").read_text().splitlines()
        bodies = [json.loads(line)["body_file"] for line in generations]
        assert bodies
        assert all((green.fresh.folder / body).stat().st_size for body in bodies)


def test_files_named_in_verdicts_exist(green: Green) -> None:
    named = {name for v in green.fresh.verdicts() for name in v["raw"]}
    assert named
    assert [name for name in named if not (green.fresh.folder / name).exists()] == []


def test_the_key_is_nowhere(green: Green, failing: GateRun) -> None:
    keys = {stamp["key"] for run in (green.fresh, failing) for stamp in run.checkout.servers()}
    starts = [s for run in (green.fresh, failing) for s in run.checkout.servers() if s["event"] == "start"]
    assert len(keys) == len(starts), "a key was used twice"
    for run in (green.fresh, green.again, green.report, green.faster, failing):
        for key in keys:
            assert key not in run.said
        for path in run.folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert not [key for key in keys if key.encode() in content], path


def test_a_selection_launches_only_what_it_needs(green: Green) -> None:
    for run in (green.slower, green.faster):
        assert [launch for launch in run.launched if "restart" not in launch] == BOTH
        assert {(v["check"], v["launch"]) for v in run.verdicts()} == {("stored_baseline", CONTROL)}
    assert green.faster.launched == BOTH


def test_a_loss_is_called_when_restarts_confirm_it_and_all_of_it_is_told(green: Green) -> None:
    run = green.slower
    restarts = [launch for launch in run.launched if "restart" in launch]
    assert restarts == [f"{3 + n:02d}-baseline-restart-{n}" for n in range(1, len(restarts) + 1)]
    (verdict,) = run.verdicts(metric="decode_tok_s")
    assert verdict["launches"] == [*BOTH, *restarts]
    sampled = run.verdict["sampling"]
    assert [name for decision in sampled["decisions"] for name in decision["launches"]] == restarts
    assert sampled["stopped"] == sampled["decisions"][-1]["reason"] == "every question is settled"
    assert 0 < sampled["spent_s"] <= sampled["budget_s"] == 120
    said = " ".join(run.said.split())  # lines are wrapped
    assert "restart 1 of baseline: decode" in said
    assert "120 s of 120 s left" in said
    assert f"{len(restarts)} restarts beyond the plan" in said
    assert "Measured beyond the plan" in (run.folder / "report.html").read_text()


def test_judged_again_a_sampled_run_says_the_same_and_starts_nothing(green: Green) -> None:
    assert green.slower_again.code == green.slower.code, green.slower_again.said
    assert green.slower_again.verdicts() == green.slower.verdicts()
    assert green.slower_again.verdict["sampling"] == green.slower.verdict["sampling"]
    assert green.slower_again.launched == green.slower.launched


def test_slower_than_the_baseline_is_regressed(green: Green) -> None:
    run = green.slower
    assert (run.code, run.outcome) == (13, "regressed"), run.said
    (verdict,) = run.verdicts(metric="decode_tok_s")
    assert verdict["outcome"] == "regressed"
    assert verdict["change"] == pytest.approx(-0.2, abs=0.01)
    assert "worse than baseline" in run.said
    assert verdict["reference"]["label"].startswith("baselines/standin/")
    assert run.verdict["do"]


def test_faster_than_the_baseline_is_improved(green: Green) -> None:
    run = green.faster
    assert (run.code, run.outcome) == (0, "improved"), run.said
    (verdict,) = run.verdicts(metric="decode_tok_s")
    assert verdict["outcome"] == "improved"
    assert verdict["change"] == pytest.approx(0.25, abs=0.01)


def test_reports_go_where_they_are_told(green: Green) -> None:
    assert green.faster.folder.parent == green.faster.checkout.root / "elsewhere"
    assert green.faster.verdict["run"]["report_dir"] == str(green.faster.folder.parent)
    assert (green.faster.folder / "report.html").exists()


def test_lifecycle(green: Green) -> None:
    for launch in PLANNED:
        told: dict[str, Any] = green.fresh.launch(launch)
        assert told["stop"]["asked"] == "term"
        assert told["stop"]["killed"] is False
        assert told["stop"]["survivors"] == []
        assert told["liveness"] == {"alive": True, "answered": True, "why": None}
        processes = {row["process"] for row in told["environment"]["rows"]}
        assert {"main", "scheduler", "detokenizer"} <= processes
        assert {row["state"] for row in told["environment"]["rows"]} == {"present"}
