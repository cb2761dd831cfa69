from __future__ import annotations

import pytest

from tokgate.parsers.counter_checks import contradictions, impossible_rate
from tokgate.records import ServerCounters, SpecCounters


def counted(completion: int, *, verify: int, correct: int, per_call: int) -> ServerCounters:
    spec = SpecCounters(verify_ct=verify, num_correct_drafts=correct, num_proposed_drafts=verify * per_call)
    return ServerCounters(dialect="0.5.13", completion_tokens=completion, spec=spec)


def test_nothing_told_contradicts_nothing() -> None:
    assert contradictions(ServerCounters(dialect="unknown", spec=SpecCounters())) == ()


@pytest.mark.parametrize("cut_off", [0, 1, 2])
def test_the_last_verify_call_may_make_more_than_the_limit_lets_through(cut_off: int) -> None:
    made = 1 + 11 + 22
    assert not contradictions(counted(made - cut_off, verify=11, correct=22, per_call=2))


@pytest.mark.parametrize("completion", [1 + 11 + 22 + 1, 1 + 11 + 22 - 3])
def test_tokens_that_no_verify_call_made_and_calls_that_made_nothing(completion: int) -> None:
    (found,) = contradictions(counted(completion, verify=11, correct=22, per_call=2))
    assert "account for 34" in found


def test_a_first_token_after_the_end() -> None:
    counters = ServerCounters(dialect="0.5.13", e2e_latency_s=1.0, first_token_latency_s=1.5)
    assert contradictions(counters) == ("first token after 1.5 s, end after 1 s",)


@pytest.mark.parametrize(
    ("rate", "tokens", "e2e", "void"),
    [
        (None, 32, 1.0, False),
        (50.0, 32, 1.0, False),
        (815.0, 512, 0.7, False),
        (50.0, 1, 1.0, True),
        (50.0, None, 1.0, True),
        (0.0, 32, 1.0, True),
        (2.3e7, 64, 0.22, True),
        (2.3e7, 64, None, False),
    ],
)
def test_impossible_rate(rate: float | None, tokens: int | None, e2e: float | None, void: bool) -> None:
    assert (impossible_rate(rate, tokens, e2e) is not None) is void
