from __future__ import annotations

from typing import Any

import pytest

from tokgate.records import Outcome, Reference, Verdict
from tokgate.report.answer import answer


def twin(change: float = 0.052, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "check": "speculation_beats_its_twin",
        "outcome": Outcome.PASS,
        "headline": "it wins",
        "arm": "eagle3-2step",
        "workload": "single",
        "metric": "decode_tok_s",
        "value": 93.46,
        "unit": "tok/s",
        "reference": Reference(kind="twin", label="baseline", value=88.87),
        "change": change,
        "floor": "at least 1x, the whole interval",
    }
    return Verdict(**{**fields, **changes})


def verify(limit: float | None = 19.6, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "check": "verify_latency",
        "outcome": Outcome.PASS,
        "headline": "it keeps it",
        "arm": "eagle3-2step",
        "workload": "single",
        "metric": "verify_ms",
        "value": 18.951,
        "unit": "ms",
        "reference": None if limit is None else Reference(kind="budget", label="a limit", value=limit),
    }
    return Verdict(**{**fields, **changes})


def test_where_no_twin_was_asked_for_verify_is_the_answer() -> None:
    p95 = verify(30.0, metric="verify_p95_ms")
    assert answer([verify(), verify(19.507), p95]) == "verify p50 18.951 ms, at most 19.507 (single)"
    assert answer([verify(None)]) == "verify p50 18.951 ms, no limit set (single)"
    assert "verify" not in (answer([twin(), verify()]) or "")


def test_arms_are_named_where_verify_is_told_of_several() -> None:
    told = answer([verify(), verify(arm="eagle3-3step", value=19.2)])
    assert told == (
        "eagle3-2step verify p50 18.951 ms, at most 19.600 (single); "
        "eagle3-3step verify p50 19.200 ms, at most 19.600 (single)"
    )


TOTAL = twin(-0.016, workload="conc8", metric="total_tok_s", value=367.3, floor=None)
TUNING = Verdict(
    check="nccl_tuning",
    outcome=Outcome.PASS,
    headline="it buys",
    workload="single",
    metric="decode_tok_s",
    change=0.411,
)


def stored(outcome: Outcome = Outcome.PASS) -> Verdict:
    return Verdict(
        check="stored_baseline", outcome=outcome, headline="it holds", metric="ttft_ms", floor="1 ms"
    )


def test_a_winning_arm_is_the_answer() -> None:
    assert answer([twin()]) == "EAGLE-3 93.5 against 88.9 tok/s, 1.05x its twin (single)"


def test_what_a_limit_was_set_on_is_told_first_and_what_was_not_is_told_too() -> None:
    assert answer([TOTAL, twin()]) == (
        "EAGLE-3 93.5 against 88.9 tok/s, 1.05x its twin (single); "
        "367.3 against 88.9 tok/s, 0.98x (conc8, total, no limit set)"
    )


def test_of_several_arms_each_is_named() -> None:
    told = answer([twin(), twin(0.1, arm="eagle3-4step")])
    assert told is not None
    assert told.startswith("eagle3-2step 93.5 against")
    assert "; eagle3-4step 93.5 against" in told


def test_what_nccl_buys_and_what_holds_follow() -> None:
    assert answer([stored(), stored(), TUNING, twin()]) == (
        "EAGLE-3 93.5 against 88.9 tok/s, 1.05x its twin (single); the NCCL block buys +41.1 % on single; "
        "2 stored numbers hold"
    )


def test_improved_numbers_are_counted() -> None:
    assert answer([stored(), stored(Outcome.IMPROVED)]) == "1 of 2 stored numbers improved"


@pytest.mark.parametrize("outcome", [Outcome.REGRESSED, Outcome.INVALID, Outcome.INCONCLUSIVE])
def test_what_did_not_hold_is_no_answer(outcome: Outcome) -> None:
    assert answer([twin(outcome=outcome)]) is None


def test_sides_of_a_comparison_are_no_answer() -> None:
    assert answer([TUNING.model_copy(update={"change": None})]) is None
