from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import STEADY, controls, eagle3, make_generation, make_launch, make_rig, series
from tests.verdicts.telemetry_windows import window
from tokgate.records import Outcome, Verdict
from tokgate.verdicts.checks.decode_throughput import decode_throughput
from tokgate.verdicts.checks.steadiness import drift, steadiness


def judged(rates: Sequence[float], **rig: Any) -> Verdict:
    workload = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": len(rates)}
    (verdict,) = steadiness(make_rig(workloads=[workload], **rig), make_launch(series(rates)), "single")
    return verdict


def test_a_steady_launch_passes_and_shows_its_values() -> None:
    verdict = judged(STEADY)

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == "decode 44.6 tok/s on 01-baseline: steady, spread 0.3%"
    assert "in order: 44.6, 44.5, 44.7, 44.6, 44.4, 44.8" in verdict.evidence


@pytest.mark.parametrize(
    ("rates", "outcome", "words", "do"),
    [
        (
            (100.0, 98.0, 96.0, 94.0, 92.0, 90.0),
            Outcome.INVALID,
            "single was still moving, -10.5% from first to last",
            "raise warmup",
        ),
        (
            (30.0, 44.5, 44.7, 44.6, 44.4, 44.8),
            Outcome.INVALID,
            "the warm-up of single was not over: the first value is -32.7% off the others",
            "raise warmup",
        ),
        (
            (100.0, 80.0, 120.0, 90.0, 110.0, 95.0),
            Outcome.INCONCLUSIVE,
            "spread 15.2%, more than 5.0%",
            "what else runs",
        ),
        (
            STEADY[:4],
            Outcome.INCONCLUSIVE,
            "n=4 cannot show a trend, needs 1 more",
            "pytest perf_tests -m eagle3 --rig small --rig-set workloads.single.repeats=5",
        ),
    ],
)
def test_what_is_not_steady_is_named_and_what_is_established_is_invalid(
    rates: Sequence[float], outcome: Outcome, words: str, do: str
) -> None:
    verdict = judged(rates)

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert verdict.do is not None
    assert do in verdict.do


@pytest.mark.parametrize(
    "rates",
    [
        (44.73, 44.71, 44.68, 44.66, 44.63, 44.60),  # in perfect order, 0.3 %
        (44.0, 44.5, 44.7, 44.6, 44.4, 44.8),  # the first is 1.3 % off
        (46.0, 44.5, 45.9, 44.6, 46.2, 44.8),  # as far off as the others lie from one another
    ],
)
def test_what_lies_below_a_floor_or_within_the_noise_is_steady(rates: Sequence[float]) -> None:
    assert judged(rates).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "rates", [(100.0, 98.0, 96.0, 94.0, 92.0, 90.0), (30.0, 44.5, 44.7, 44.6, 44.4, 44.8)]
)
def test_nothing_else_is_judged_from_a_window_that_was_not_steady(rates: Sequence[float]) -> None:
    """A budget that it would miss, and one that it would keep: neither is a regression, neither a pass."""
    for limit in (10.0, 1000.0):
        budget = {"metric": "decode_tok_s", "arm": "baseline", "workload": "single", "at_least": limit}
        (verdict,) = decode_throughput(make_rig(budgets=[budget]), make_launch(series(rates)), "single")

        assert verdict.outcome is Outcome.INVALID
        assert "single" in verdict.headline
        assert verdict.do is not None


def test_a_rig_for_a_busy_machine_widens_the_limits() -> None:
    wide = {"decode_tok_s": {"relative": 0.2, "absolute": 2.0}}

    assert judged((100.0, 80.0, 120.0, 90.0, 110.0, 95.0), floors=wide).outcome is Outcome.PASS


def test_of_one_launch_alone_nobody_knows_whether_the_rig_or_the_machine_is_to_blame() -> None:
    do = judged((30.0, 44.5, 44.7, 44.6, 44.4, 44.8)).do or ""
    assert "raise warmup of single by one if its other launches begin so too" in do
    assert "load and clocks of the machine at that time" in do


def test_one_value_has_no_spread() -> None:
    verdict = judged(STEADY[:1])

    assert verdict.outcome is Outcome.INVALID
    assert "one value has no spread" in verdict.headline


def test_an_arm_is_judged_by_its_cycle_since_prompts_differ_in_acceptance() -> None:
    """Each prompt accepts another share, so tok/s spreads; the time per verify call does not."""
    generations = tuple(
        make_generation(index=i, launch="02-eagle3-2step", tok_s=255 / (n * 0.030), verify_ct=n)
        for i, n in enumerate((100, 110, 120, 130, 140, 150))
    )
    launch = eagle3().model_copy(update={"generations": generations})
    (verdict,) = steadiness(make_rig(), launch, "single")

    assert verdict.outcome is Outcome.PASS
    assert verdict.metric == "cycle_ms"
    assert verdict.headline.startswith("cycle per verify call 30.00 ms on 02-eagle3-2step: steady")


@pytest.mark.parametrize(
    ("factor", "outcome", "words"),
    [
        (1.0, Outcome.PASS, "no drift"),
        (0.99, Outcome.PASS, "no drift: control 44.6 before, 44.2 tok/s after (-1.0%, less than a floor)"),
        (0.997, Outcome.PASS, "no drift"),
        (
            0.95,
            Outcome.INCONCLUSIVE,
            "drift not excluded: control 44.6 before, 42.4 tok/s after, -5.0%: more than",
        ),
        (0.9, Outcome.INVALID, "the machine drifted by -10.0%: control 44.6 before, 40.1 tok/s after"),
        (1.1, Outcome.INVALID, "the machine drifted by +10.0%"),
    ],
)
def test_drift_either_way_is_told_with_both_numbers(factor: float, outcome: Outcome, words: str) -> None:
    (verdict,) = drift(make_rig(), controls(STEADY, tuple(v * factor for v in STEADY)), "single")

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert (verdict.do is None) is (outcome is Outcome.PASS)


@pytest.mark.parametrize("swap", [False, True])
def test_noise_that_could_hide_a_drift_is_no_pass(swap: bool) -> None:
    pair: tuple[Sequence[float], Sequence[float]] = (STEADY, (36.0, 55.0, 41.0, 50.0, 44.6, 44.0))
    (verdict,) = drift(make_rig(), controls(*(reversed(pair) if swap else pair)), "single")

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "drift not excluded" in verdict.headline


def test_the_same_launch_twice_brackets_nothing() -> None:
    (verdict,) = drift(make_rig(), (controls()[0], controls()[0]), "single")

    assert verdict.outcome is Outcome.INVALID


def test_beside_a_busy_host_what_moved_begins_with_the_host() -> None:
    workload = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}
    rates = (30.0, 44.5, 44.7, 44.6, 44.4, 44.8)
    busy = tuple(window(b, host_busy=0.97, load1=6.8) for b in range(6))
    (verdict,) = steadiness(
        make_rig(workloads=[workload]), make_launch(series(rates), windows=busy), "single"
    )
    assert (verdict.do or "").startswith(
        "look first at what else runs on the host (all cores of the host 97% busy in 6 of 6 windows, load 6.8 at most)"
    )
    assert any("consistent with other work on the host" in line for line in verdict.evidence)
    assert "on the host" not in (judged(rates).do or "")
