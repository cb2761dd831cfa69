"""The first run of a rig ends with one command that stores all of it."""

from __future__ import annotations

import pytest

from tests.report import examples
from tokgate.records import Outcome, Verdict
from tokgate.report.first_run import stored_together
from tokgate.report.verdict_json import build
from tokgate.verdicts.baselines.no_baseline import UPDATE


def of(arm: str, outcome: Outcome = Outcome.NO_BASELINE, do: str | None = None) -> Verdict:
    step = f"if these numbers are to be kept: {UPDATE.format(arm=arm)}" if do is None else do
    return Verdict(check="stored_baseline", outcome=outcome, headline=arm, arm=arm, do=step or None)


def test_nothing_stored_of_any_arm_is_one_step() -> None:
    file = build(examples.run_evidence(), [of("baseline"), of("eagle3-2step")], examples.rig())
    step = 'if these numbers are to be kept: tokgate baseline update RUN --why "…"'
    assert file.do == step
    assert {v.do for v in file.verdicts} == {step}


@pytest.mark.parametrize(
    "other",
    [
        of("eagle3-2step", Outcome.PASS, ""),
        of(
            "eagle3-2step",
            do="it is slower than its twin has to be: that is explained before its numbers are kept",
        ),
    ],
    ids=["one is stored", "one is not to be kept"],
)
def test_with_an_arm_that_it_would_touch_each_is_stored_by_itself(other: Verdict) -> None:
    first, second = stored_together([of("baseline"), other])
    assert "--arm baseline" in (first.do or "")
    assert second == other
