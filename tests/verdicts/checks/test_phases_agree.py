from __future__ import annotations

from tests.verdicts.evidence import make_rig
from tests.verdicts.phase_evidence import NO_PROBE, agreement, carrying, phase, table, untold
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.verdicts.checks.phases_agree import phases_agree


def judged(launch: LaunchEvidence) -> Verdict:
    (verdict,) = phases_agree(make_rig(), launch, "single")
    return verdict


def test_sources_within_their_limits_pass_and_all_are_told() -> None:
    verdict = judged(carrying(table(phase(), agreements=(agreement(0.005), agreement(-0.02)))))
    assert verdict.outcome is Outcome.PASS
    assert verdict.n == 2
    assert "-2.0%" in verdict.headline
    assert len(verdict.evidence) == 2


def test_one_pair_beyond_its_limits_is_invalid_whatever_the_others_say() -> None:
    pairs = (agreement(0.005), agreement(0.4, agrees=False))
    verdict = judged(carrying(table(phase(), agreements=pairs)))
    assert verdict.outcome is Outcome.INVALID
    assert "+40.0%" in verdict.headline
    assert any("sampling" in line for line in verdict.evidence)


def test_no_pair_is_no_agreement() -> None:
    verdict = judged(carrying(untold()))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert NO_PROBE in verdict.headline


def test_another_workloads_dispute_is_judged_there() -> None:
    pairs = (agreement(0.005), agreement(0.4, agrees=False, workload="pair"))
    assert judged(carrying(table(phase(), agreements=pairs))).outcome is Outcome.PASS
