from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import STEADY, eagle3, make_launch, make_rig, series
from tokgate.records import Outcome, Verdict
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.checks.decode_throughput import decode_throughput
from tokgate.verdicts.checks.time_to_first_token import time_to_first_token
from tokgate.verdicts.establish import Established, establish_workload


def judged(rates: Sequence[float], **budget: Any) -> Verdict:
    workload = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": len(rates)}
    rig = make_rig(workloads=[workload], budgets=[{"metric": "decode_tok_s", **budget}] if budget else [])
    (verdict,) = decode_throughput(rig, make_launch(series(rates)), "single")
    return verdict


@pytest.mark.parametrize(
    ("budget", "outcome", "words"),
    [
        ({"at_least": 40.0}, Outcome.PASS, "above the floor 40, interval 44.4–44.8"),  # noqa: RUF001
        ({"at_least": 44.6}, Outcome.INCONCLUSIVE, "the floor 44.6 lies inside the interval"),
        ({"at_least": 45.0}, Outcome.REGRESSED, "below the floor 45, interval"),
        ({"at_most": 50.0}, Outcome.PASS, "below the ceiling 50"),
        ({"at_most": 44.6}, Outcome.INCONCLUSIVE, "the ceiling 44.6 lies inside"),
        ({"at_most": 40.0}, Outcome.REGRESSED, "above the ceiling 40"),
    ],
)
def test_a_limit_is_judged_by_the_whole_interval(
    budget: dict[str, float], outcome: Outcome, words: str
) -> None:
    verdict = judged(STEADY, **budget)

    assert verdict.outcome is outcome
    assert verdict.headline.startswith("decode 44.6 tok/s on baseline: ")
    assert words in verdict.headline
    assert (verdict.do is None) is (outcome is Outcome.PASS)
    assert verdict.interval == (44.4, 44.8)


def test_five_values_are_one_too_few_for_a_limit() -> None:
    verdict = judged(STEADY[:5], at_least=10.0)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "n=5 needs 1 more" in verdict.headline
    assert verdict.do == "raise repeats of single by 1"


def test_without_a_limit_the_value_itself_is_told() -> None:
    verdict = judged(STEADY)

    assert verdict.outcome is Outcome.PASS
    assert verdict.reference is None
    assert verdict.headline == "decode 44.6 tok/s on baseline: no budget set, interval 44.4–44.8"  # noqa: RUF001


@pytest.mark.parametrize("elsewhere", [{"arm": "eagle3-2step"}, {"workload": "other"}, {"metric": "ttft_ms"}])
def test_limits_of_others_are_not_ours(elsewhere: dict[str, str]) -> None:
    assert judged(STEADY, at_least=1000.0, **elsewhere).outcome is Outcome.PASS


def test_every_limit_has_its_own_verdict() -> None:
    rig = make_rig(
        budgets=[
            {"metric": "ttft_ms", "at_most": 10.0, "at_least": 1.0},
            {"metric": "ttft_ms", "arm": "baseline", "workload": "single", "at_most": 30.0},
        ]
    )
    verdicts = time_to_first_token(rig, make_launch(), "single")

    assert [v.outcome for v in verdicts] == [Outcome.PASS, Outcome.REGRESSED, Outcome.PASS]


def test_the_second_control_goes_by_its_own_name() -> None:
    again = "04-baseline-again"
    launch = make_launch(series(launch=again), id=again, role="control-again")
    (verdict,) = decode_throughput(make_rig(), launch, "single")

    assert "on 04-baseline-again" in verdict.headline


def test_many_streams_are_judged_one_by_one_and_together() -> None:
    launch = make_launch(series((50.0, 51.0, 52.0, 53.0), workload="pair", concurrency=2))

    assert [v.metric for v in decode_throughput(make_rig(), launch, "pair")] == [
        "decode_tok_s",
        "total_tok_s",
    ]


def test_a_headline_fits_a_terminal() -> None:
    assert len(judged(STEADY, at_least=40.0).headline) <= 80


@pytest.mark.parametrize(
    ("metric", "budget", "words"),
    [
        ("decode_tok_s", {"at_least": 100.0}, "accept length, or the cycle and its phases"),
        ("cycle_ms", {"at_most": 10.0}, "which phase of the cycle it is"),
        ("accept_length", {"at_least": 3.0}, "look at the draft model"),
    ],
)
def test_beyond_a_limit_it_says_where_this_session_tells_more(
    metric: str, budget: dict[str, float], words: str
) -> None:
    rig = make_rig(budgets=[{"metric": metric, **budget}])
    established = establish_workload(rig, eagle3(), "single", check="c")
    assert isinstance(established, Established)
    (verdict,) = judge_metric(rig, established, metric, check="c")
    assert verdict.outcome is Outcome.REGRESSED
    assert words in (verdict.do or "")


def test_a_plain_arm_beyond_its_limit_is_not_sent_to_acceptance() -> None:
    assert (judged(STEADY, at_least=45.0).do or "").startswith("it does no speculation: see stored_baseline")


def test_the_limit_is_kept_on_its_good_side() -> None:
    assert judged(STEADY, at_least=40.0).floor == "floor 40 tok/s, the whole interval above it"
    assert judged(STEADY, at_most=50.0).floor == "ceiling 50 tok/s, the whole interval below it"
