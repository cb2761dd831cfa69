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
