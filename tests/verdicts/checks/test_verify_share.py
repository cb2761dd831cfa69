from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import ONE_RUN, make_rig, restarted
from tests.verdicts.phase_evidence import NO_PROBE, carrying, phase, table, untold
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase
from tokgate.verdicts.checks.verify_share import verify_share

STEP = phase(Phase.STEP, (6.0,) * 6)
LIMIT = {"metric": "verify_share", "arm": "eagle3-2step", "workload": "single", "at_most": 0.92}


def judged(launch: LaunchEvidence | Sequence[LaunchEvidence], *limits: dict[str, Any]) -> Verdict:
    """Where a test is about one launch, no second one has to confirm what it shows."""
    sampling = ONE_RUN if isinstance(launch, LaunchEvidence) else {}
    (verdict,) = verify_share(make_rig(budgets=limits, sampling=sampling), launch, "single")
    return verdict


def test_it_is_verify_over_the_probes_own_cycle() -> None:
    verdict = judged(carrying(table(phase(starts=(5.4,) * 6), STEP)), LIMIT)
    assert verdict.outcome is Outcome.PASS
    assert verdict.value == pytest.approx(0.9)
    assert verdict.interval == pytest.approx((0.893, 0.907), abs=1e-3)


def test_a_larger_share_than_allowed_is_a_regression_once_restarts_show_it() -> None:
    long = carrying(table(phase(starts=(5.9,) * 6), STEP))
    alone = judged((long,), LIMIT)

    assert judged(long, LIMIT).outcome is Outcome.REGRESSED
    assert (alone.outcome, alone.wanted) == (Outcome.INCONCLUSIVE, {"eagle3-2step+phases": 4})
    again = (restarted(long, n, round=1) for n in range(1, 5))
    assert judged((long, *again), LIMIT).outcome is Outcome.REGRESSED


@pytest.mark.parametrize("limits", [(), (LIMIT,), ({"metric": "verify_share", "at_least": 0.5},)])
def test_no_part_is_larger_than_the_whole(limits: tuple[dict[str, Any], ...]) -> None:
    """In one start of six, so that the median alone would not show it."""
    verdict = judged(carrying(table(phase(starts=(5.0,) * 5 + (6.1,)), STEP)), *limits)
    assert verdict.outcome is Outcome.INVALID
    assert "longer than the cycle it is a part of in 1 of 6 starts" in verdict.headline


def test_without_the_cycle_by_the_same_source_there_is_no_share() -> None:
    wall = phase(Phase.STEP, (6.0,) * 6, source="cycle", clock="wall", rank=None)
    verdict = judged(carrying(table(phase(), wall)), LIMIT)
    assert verdict.outcome is Outcome.INVALID
    assert "0 of 6 starts" in verdict.headline


def test_without_a_source_it_says_why() -> None:
    verdict = judged(carrying(untold()), LIMIT)
    assert verdict.outcome is Outcome.INVALID
    assert NO_PROBE in verdict.headline
    assert judged(carrying(untold())).outcome is Outcome.INCONCLUSIVE
