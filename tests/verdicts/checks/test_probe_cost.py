from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_launch, make_rig, series
from tests.verdicts.phase_evidence import NAME, carrying, phase, table
from tokgate.records import GenerationStatus, LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import ProbeCost
from tokgate.rig.models import Rig
from tokgate.session.run_folder import with_samples
from tokgate.verdicts.checks.probe_cost import probe_cost

TIMER = {"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1"}


def cost(low: float = -0.001, high: float = 0.002, **changes: Any) -> ProbeCost:
    fields: dict[str, Any] = {
        "workload": "single",
        "concurrency": 1,
        "pairs": 6,
        "slowdown": (low + high) / 2,
        "interval": (low, high),
        "by": "decode seconds a verify call",
        "calls_on": 3000,
        "calls_off": 0,
    }
    return ProbeCost(**{**fields, **changes})


def launched(
    told: ProbeCost | None, *, off: tuple[float, ...] = (59.9,) * 6, timer: bool = False
) -> LaunchEvidence:
    launch = carrying(table(phase(), cost=told))
    without = series(off, launch=NAME, workload="probe-off", verify_ct=138)
    launch = launch.model_copy(update={"generations": (*launch.generations, *without)})
    if timer and launch.server is not None:
        line = launch.server.line
        line = line.model_copy(update={"environment": {**line.environment, **TIMER}})
        launch = launch.model_copy(update={"server": launch.server.model_copy(update={"line": line})})
        assert launch.environment is not None
        first = launch.environment.rows[0].variable
        rows = [
            r.model_copy(update={"variable": name, "wanted": "1", "found": "1"})
            for r in launch.environment.rows
            if r.variable == first
            for name in TIMER
        ]
        truth = launch.environment.model_copy(update={"rows": (*launch.environment.rows, *rows)})
        launch = launch.model_copy(update={"environment": truth})
    return with_samples(launch)


def judged(launch: LaunchEvidence, timed: LaunchEvidence | None = None, rig: Rig | None = None) -> Verdict:
    (verdict,) = probe_cost(rig or make_rig(), launch, timed)
    return verdict


@pytest.mark.parametrize(
    ("low", "high", "outcome", "words"),
    [
        (-0.001, 0.002, Outcome.PASS, "below 0.20%"),
        (-0.03, 0.04, Outcome.PASS, "below 4.00%"),  # wide, and honest about it
        (0.001, 0.02, Outcome.PASS, "between 0.10% and 2.00%"),
        (-0.004, -0.001, Outcome.PASS, "below 0.00%"),
        (0.005, 0.02, Outcome.PASS, "between 0.50% and 2.00%"),
        (0.0051, 0.02, Outcome.INVALID, "between 0.51% and 2.00%"),
    ],
)
def test_only_the_lower_end_can_fail(low: float, high: float, outcome: Outcome, words: str) -> None:
    verdict = judged(launched(cost(low, high)))
    assert verdict.outcome is outcome
    assert f"costs {words} of decode time" in verdict.headline
    assert verdict.interval == pytest.approx((100 * low, 100 * high))
    assert ("not shown to be below 0.5%" in verdict.headline) == (outcome is Outcome.PASS and high > 0.005)
    assert (verdict.do is not None) == (outcome is Outcome.INVALID)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (None, "nobody compared starts"),
        (cost(why="the switch did not work: 9 calls", interval=None), "the switch did not work: 9 calls"),
        (cost(-0.3, -0.2, why="the starts with the probe on are quicker"), "are quicker"),
        (cost(why="the probe recorded nothing in the starts with the switch on"), "recorded nothing"),
    ],
)
def test_an_unknown_cost_is_neither_passed_nor_failed_and_says_what_to_do(
    told: ProbeCost | None, why: str
) -> None:
    verdict = judged(launched(told))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert why in verdict.headline
    assert ("the prefix cache" if "quicker" in why else "docs/phases.md") in (verdict.do or "")


def test_too_few_pairs_by_the_rig_name_the_setting() -> None:
    rig = make_rig(instruments={"repeats": 4})
    verdict = judged(launched(cost(pairs=4, interval=None, why="n=4 is too few")), rig=rig)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "instruments.cost_pairs = 6" in (verdict.do or "")


def test_a_start_without_the_probe_that_failed_is_no_comparison() -> None:
    launch = launched(cost())
    broken = tuple(
        g.model_copy(update={"status": GenerationStatus.TIMED_OUT, "why": "planted"})
        if g.workload == "probe-off"
        else g
        for g in launch.generations
    )
    verdict = judged(launch.model_copy(update={"generations": broken}))
    assert verdict.outcome is Outcome.INVALID
    assert "planted" in verdict.headline


def test_the_device_timer_is_told_of_and_never_judged() -> None:
    timed = with_samples(
        make_launch(
            series((66.0, 66.1, 65.9, 66.2, 66.0, 66.1), launch="02-eagle3-2step"), id="02-eagle3-2step"
        )
    )
    verdict = judged(launched(cost(), timer=True), timed)
    assert verdict.outcome is Outcome.PASS
    (line,) = (e for e in verdict.evidence if "device timer" in e)
    assert "+10." in line
    assert "what a restart changes is in it" in line
    (alone,) = (e for e in judged(launched(cost(), timer=True)).evidence if "device timer" in e)
    assert "no start of the arm without instruments" in alone
    assert not [e for e in judged(launched(cost()), timed).evidence if "device timer" in e]
