"""One fault makes many checks invalid: the last block of the terminal tells it once."""

from __future__ import annotations

from tests.report.examples import rig, run_evidence
from tokgate.records import Outcome, Verdict
from tokgate.report import terminal
from tokgate.report.verdict_json import build


def test_checks_with_the_same_next_step_are_told_once() -> None:
    verdicts = tuple(
        Verdict(
            check=f"check_{number}",
            outcome=Outcome.INVALID,
            headline=f"nothing was measured on launch {number}",
            do="set server.model_path to a model that exists",
        )
        for number in range(70)
    )
    lines = terminal.render(build(run_evidence(), verdicts, rig()), "reports/x", colour=False).splitlines()
    assert sum("set server.model_path" in line for line in lines) == 1
    assert any("and 69 more with the same next step" in line for line in lines)
    assert len(lines) < 22


def test_below_the_failures_a_loss_is_its_first_verdict_and_what_holds_its_names() -> None:
    lost = tuple(
        Verdict(
            check=check,
            outcome=Outcome.REGRESSED,
            headline=f"{metric} has moved",
            arm="baseline",
            launch="01-baseline",
            workload=workload,
            metric=metric,
            do=f"look at {workload}",
        )
        for check, workload in (
            ("stored_baseline", "single"),
            ("stored_baseline", "conc8"),
            ("lossless", "lossless"),
        )
        for metric in ("decode_tok_s", "tpot_ms", "e2e_ms")
    )
    kept = tuple(
        Verdict(check=check, outcome=Outcome.PASS, headline="it holds")
        for check in ("restarts", "clean_slate", "clean_slate", "speculation_beats_its_twin")
    )
    file = build(run_evidence(), (*lost, *kept), rig())
    lines = terminal.render(file, "reports/x", colour=False, brief=True).splitlines()
    assert sum(line.startswith("REGRESSED  ") for line in lines) == 2
    assert sum("… and 5 more of this loss" in line for line in lines) == 1
    assert sum("… and 2 more of this loss" in line for line in lines) == 1
    assert "pass         3: restarts, clean_slate 2" in lines
    assert "pass         speculation_beats_its_twin" in lines  # what a session is run for
    whole = terminal.render(file, "reports/x", colour=False).splitlines()
    assert sum(line.startswith("pass  ") for line in whole) == 4
