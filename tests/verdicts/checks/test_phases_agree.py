from __future__ import annotations

from tests.verdicts.evidence import make_rig
from tests.verdicts.phase_evidence import NO_PROBE, agreement, carrying, phase, table, untold
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase
from tokgate.stats.agreement import ANY
from tokgate.verdicts.checks.phases_agree import phases_agree


def judged(launch: LaunchEvidence) -> Verdict:
    (verdict,) = phases_agree(make_rig(), launch, "single")
    return verdict


def test_a_probe_that_tells_of_all_but_verify_is_no_agreement() -> None:
    """Its readings of verify, and every comparison with them, are gone: what is left agrees."""
    silent = {"probe": "every call of verify that it has, 490 of them, took 0 ms"}
    verdict = judged(carrying(table(phase(Phase.DRAFT), agreements=(agreement(0.005),), unknown=silent)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the probe tells of draft and of no verify: every call of verify" in verdict.headline
    assert verdict.n == 1


def test_sources_within_their_limits_pass_and_all_are_told() -> None:
    verdict = judged(carrying(table(phase(), agreements=(agreement(0.005), agreement(-0.02)))))
    assert verdict.outcome is Outcome.PASS
    assert verdict.n == 2
    assert "-2.0%" in verdict.headline
    assert sum(line.startswith("verify: probe against device-timer") for line in verdict.evidence) == 2


def test_a_comparison_that_every_rank_makes_is_one_and_only_single_phases_are_counted_as_such() -> None:
    name = "step (probe, rank {}) against the cycle"
    steps = [agreement().model_copy(update={"name": name.format(rank)}) for rank in range(8)]
    verdict = judged(carrying(table(phase(), agreements=tuple(steps))))
    assert (
        "1 comparison agrees (8 with each rank's own), none of a single phase by two sources"
        in verdict.headline
    )

    both = judged(carrying(table(phase(), agreements=(*steps, agreement()))))
    assert "2 comparisons agree (9 with each rank's own), 1 of a single phase by two sources" in both.headline


def test_what_two_clocks_keep_apart_is_told() -> None:
    probe = phase(clock="host")
    trace = phase(source="trace").model_copy(update={"starts": ()})
    verdict = judged(carrying(table(probe, trace, agreements=(agreement(),))))
    assert "not those that two clocks keep apart" in verdict.headline
    assert verdict.evidence[0] == "verify: probe and trace not compared, they have two clocks"

    alike = judged(carrying(table(phase(), trace, agreements=(agreement(),))))
    assert "clocks" not in " ".join((alike.headline, *alike.evidence))


def test_a_pass_within_limits_that_would_let_a_large_difference_pass_is_told_as_a_weak_one() -> None:
    host = agreement().model_copy(
        update={"name": "verify: probe, rank 3 against device-timer, host clock", "limit": (-0.15, ANY)}
    )
    weak = judged(carrying(table(phase(), agreements=(host,))))
    assert "; all weak: their limits are wider than 20%; furthest" in weak.headline
    assert (
        "weak, verify: probe against device-timer, host clock: up to 15% less or any excess would pass, since the probe's "
        "call has sampling in it"
    ) in weak.evidence
    both = judged(carrying(table(phase(), agreements=(host, agreement()))))
    assert "; 1 of 2 weak" in both.headline
    narrow = judged(carrying(table(phase(), agreements=(agreement(),))))
    assert "weak" not in " ".join((narrow.headline, *narrow.evidence))


def test_the_calls_seen_stand_beside_those_that_the_answers_count() -> None:
    verdict = judged(carrying(table(phase(), agreements=(agreement(),))))
    assert "the probe saw 828 verify calls, the answers count 828 (spec_verify_ct)" in verdict.evidence
    lossy = judged(carrying(table(phase(calls=120), agreements=(agreement(),))))
    assert lossy.outcome is Outcome.PASS
    assert any("13.0% are missing" in warning for warning in lossy.warnings)


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


def test_calls_that_nothing_can_be_compared_with_are_not_denied() -> None:
    verdict = judged(carrying(table(phase())))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the probe tells of" in verdict.headline
    assert "no source told" not in verdict.headline
