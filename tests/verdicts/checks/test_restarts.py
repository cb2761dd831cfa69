from __future__ import annotations

import pytest

from tests.verdicts.evidence import STEADY, controls, eagle3, make_launch, make_rig, series
from tokgate.records import LaunchEvidence, Liveness, Outcome, Verdict
from tokgate.verdicts.baselines.file import BaselineLaunch
from tokgate.verdicts.checks.restarts import restarts

CYCLE = 255 / (59.8 * 138) * 1e3  # ms, of the arm of the evidence


def runs(*factors: float) -> tuple[LaunchEvidence, ...]:
    return tuple(
        make_launch(
            series(tuple(v * factor for v in STEADY), launch=f"0{n}-baseline"),
            id=f"0{n}-baseline",
            role="control" if n == 1 else "restart",
        )
        for n, factor in enumerate(factors, 1)
    )


def judged(*factors: float) -> Verdict:
    (verdict,) = restarts(make_rig(), runs(*factors), "single")
    return verdict


def test_what_restarts_differ_by_is_told() -> None:
    verdict = judged(1.0, 1.002, 0.999)

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == (
        "restarts of baseline differ by 0.15% in decode of single (3 server runs, 2 restarts seen): no two modes"
    )
    assert verdict.value == pytest.approx(0.153, abs=0.001)
    assert verdict.unit == "% sd"
    assert verdict.launches == ("01-baseline", "02-baseline", "03-baseline")
    assert verdict.evidence == ("this session: 01-baseline 44.6, 02-baseline 44.7, 03-baseline 44.6 tok/s",)
    assert verdict.warnings == (
        "2 restarts seen: comparisons go by a prior of 0.50% (standard deviation) as well",
    )


def test_one_run_says_that_one_restart_shows_nothing() -> None:
    verdict = judged(1.0)

    assert (
        verdict.headline
        == "one server run of baseline in single: nothing is known of what restarts differ by"
    )
    assert verdict.warnings[0] == (
        "1 server run cannot show two modes, it takes 3: restart more, or store a baseline"
    )


@pytest.mark.parametrize(
    ("factors", "moved", "do"),
    [
        ((1.0, 0.93, 1.001), False, "compare the logs of a run of each"),
        ((1.0, 1.001, 0.93), True, "restart once more: modes come back, a drift does not"),
        ((0.93, 1.0, 0.931, 1.001), False, "NCCL's choice of algorithm"),
    ],
)
def test_two_modes_are_invalid_with_every_run(factors: tuple[float, ...], moved: bool, do: str) -> None:
    verdict = judged(*factors)

    assert verdict.outcome is Outcome.INVALID
    assert "server runs of baseline fall into two modes in single, 7.0% apart" in verdict.headline
    assert ("or the machine moved between them" in verdict.headline) is moved
    assert f"01-baseline {44.6 * factors[0]:.1f}" in verdict.evidence[0]
    assert do in (verdict.do or "")


def test_noise_of_two_per_cent_is_no_mode() -> None:
    assert judged(1.0, 1.027, 0.985, 1.012, 0.974).outcome is Outcome.PASS


def test_an_arm_that_speculates_is_judged_by_its_cycle() -> None:
    """Its stored runs are the same arm's, by the same metric."""
    samples = {"cycle_ms": ((CYCLE,),) * 6, "decode_tok_s": ((1.0,),) * 6}
    stored = [BaselineLaunch(run_id=run, launch="02", samples=samples) for run in "abab"]
    (verdict,) = restarts(make_rig(), (eagle3(),), "single", {"eagle3-2step": stored, "baseline": ()})

    assert verdict.outcome is Outcome.PASS
    assert verdict.value == 0.0
    assert verdict.headline.startswith(
        "restarts of eagle3-2step differ by 0.00% in cycle per verify call of single (5 server runs, 2 restarts seen)"
    )


def test_a_run_that_cannot_be_judged_is_named() -> None:
    dead = controls()[1].model_copy(update={"liveness": Liveness(alive=False, answered=False, why="killed")})
    (verdict,) = restarts(make_rig(), (controls()[0], dead), "single")

    assert verdict.outcome is Outcome.INVALID
    assert verdict.headline == (
        "restarts on 04-baseline-again: the server was dead after the last generation (killed)"
    )
