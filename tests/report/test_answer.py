from __future__ import annotations

from typing import Any

import pytest

from tokgate.records import Outcome, Reference, Verdict
from tokgate.report.answer import against_the_baseline, answer, unminded


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


def test_what_lies_beside_the_stored_numbers_is_told_of_a_session_without_a_loss() -> None:
    speed = stored().model_copy(
        update={
            "arm": "eagle3-2step",
            "workload": "single",
            "metric": "decode_tok_s",
            "change": -0.001,
            "interval": (-0.009, 0.006),
        }
    )
    wait = stored().model_copy(
        update={"arm": "baseline", "workload": "single", "metric": "ttft_ms", "change": 0.031}
    )
    first, furthest = against_the_baseline([twin(), speed, wait])
    assert first == "decode tok/s since the stored baseline: eagle3-2step single -0.1 % (-0.9 % to +0.6 %)"
    assert furthest == (
        "2 numbers are compared with stored ones and none is worse beyond its floor; the furthest is ttft_ms of "
        "baseline single +3.1 %"
    )
    assert not tuple(against_the_baseline([twin()]))
    lost = speed.model_copy(update={"outcome": Outcome.REGRESSED})
    assert not tuple(against_the_baseline([lost, wait]))  # its own verdict says so


def test_a_loss_that_no_limit_minds_is_noted_beside_the_yes() -> None:
    (note,) = unminded([twin(), TOTAL])
    assert note == (
        "Note: speculation loses where it is measured without a limit, which no promise minds: 0.98x its twin on "
        "eagle3-2step (conc8, total, no limit set)"
    )
    assert not tuple(unminded([twin(), twin(0.01, floor=None)]))
