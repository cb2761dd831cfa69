"""A server whose counters agree with each other is believed only as far as the client's own stamps allow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import MS, controls, eagle3, make_generation, make_launch, make_rig, series
from tokgate.records import Generation, LaunchEvidence, Outcome, Verdict
from tokgate.verdicts.checks.speculation_beats_its_twin import speculation_beats_its_twin
from tokgate.verdicts.establish import Established, establish, establish_workload

RIG = make_rig()
TOLD = (44.6, 44.5, 44.7, 44.6, 44.4, 44.8)


def lying(generations: tuple[Generation, ...], factor: float) -> tuple[Generation, ...]:
    """The same streams with a server that tells `factor` times its rate, all its times fitting that."""
    return tuple(_lie(g, factor) for g in generations)


def _lie(g: Generation, factor: float) -> Generation:
    assert g.counters is not None
    assert g.counters.decode_throughput is not None
    assert g.counters.first_token_latency_s is not None
    rate = g.counters.decode_throughput * factor
    e2e = g.counters.first_token_latency_s + (g.asked_tokens - 1) / rate
    return g.model_copy(
        update={"counters": g.counters.model_copy(update={"decode_throughput": rate, "e2e_latency_s": e2e})}
    )


def established(launch: LaunchEvidence, workload: str = "single") -> Established | Verdict:
    return establish_workload(RIG, launch, workload, check="decode_throughput")


def refused(launch: LaunchEvidence) -> str:
    found = established(launch)
    assert isinstance(found, Verdict)
    assert found.outcome is Outcome.INVALID
    return found.headline


@pytest.mark.parametrize(
    ("factor", "told"), [(0.6, "26.76"), (0.95, "42.37"), (1.45, "64.67"), (2.0, "89.2")]
)
def test_a_rate_that_the_stream_excludes_is_invalid_with_both_numbers(factor: float, told: str) -> None:
    headline = refused(make_launch(lying(series(), factor)))

    assert f"the server says {told} tok/s" in headline
    assert "saw 44.6" in headline


def test_a_control_that_tells_less_than_it_made_gives_no_speed_up() -> None:
    """An arm 1.05 times as fast would look 1.75 times as fast."""
    twins = [
        one.model_copy(update={"generations": lying(one.generations, 0.6)}) for one in controls(TOLD, TOLD)
    ]
    (verdict,) = speculation_beats_its_twin(RIG, eagle3((46.8,) * 6), twins, "single")

    assert verdict.outcome is Outcome.INVALID
    assert "tok/s" in verdict.headline


def test_a_prefill_of_seconds_hides_no_rate_that_is_far_too_low() -> None:
    """The client waited long enough for it, but not between chunks."""
    patient = tuple(make_generation(index=i, ttft_ms=9000.0) for i in range(6))
    headline = refused(make_launch(lying(patient, 0.6)))

    assert "the server says 26.76 tok/s, the client saw 44.6" in headline


def test_a_client_that_lags_a_little_costs_a_warning_only() -> None:
    lagging = tuple(_stretched(g, 1.2) for g in series())
    found = established(make_launch(lagging))

    assert isinstance(found, Established), found.headline
    assert "more than 2% apart" in found.series["decode_tok_s"].warnings[0]


def _stretched(g: Generation, factor: float) -> Generation:
    stamps = tuple(round(ns * factor) for ns in g.chunk_ns)
    return g.model_copy(update={"chunk_ns": stamps, "end_ns": stamps[-1]})


@pytest.mark.parametrize(
    ("tokens", "stamps_ms", "told"),
    [
        (2, (30.0, 76.0), 43.5),  # on two busy cores: the second chunk came 23 ms late
        (4, (60.0, 70.0, 80.0, 90.0), 67.0),  # the first one 15 ms late
    ],
)
def test_of_few_tokens_little_is_known_and_nothing_is_refused(
    tokens: int, stamps_ms: tuple[float, ...], told: float
) -> None:
    stamps = tuple(round(ms * MS) for ms in stamps_ms)
    few = tuple(
        _told(make_generation(index=i, tokens=tokens, chunk_ns=stamps, end_ns=stamps[-1]), told)
        for i in range(6)
    )
    found = establish(make_launch(few), "single", at_least=6)

    assert isinstance(found, Established), found.headline


def _told(g: Generation, tok_s: float) -> Generation:
    assert g.counters is not None
    return g.model_copy(
        update={"counters": g.counters.model_copy(update={"decode_throughput": tok_s, "e2e_latency_s": None})}
    )


def test_a_stream_that_arrived_in_one_piece_is_bounded_by_the_wait_for_it() -> None:
    bundled = tuple(g.model_copy(update={"chunk_ns": (g.end_ns,) * len(g.chunk_ns)}) for g in series())
    found = established(make_launch(bundled))
    at_once = tuple(
        g.model_copy(update={"chunk_ns": (g.chunk_ns[0],) * 256, "end_ns": g.chunk_ns[0]}) for g in series()
    )

    assert isinstance(found, Established), found.headline
    assert "it saw no two chunks apart" in refused(make_launch(at_once))


@pytest.mark.parametrize(
    "changes",
    [{"chunk_ns": (30 * MS, 20 * MS), "chunk_tokens": None}, {"end_ns": 1}, {"sent_ns": 10**12}],
)
def test_times_that_run_backwards_are_no_times(changes: dict[str, Any]) -> None:
    odd = tuple(g.model_copy(update=changes) for g in series())

    assert "run backwards" in refused(make_launch(odd))


def test_no_more_is_accepted_than_a_cycle_commits() -> None:
    """Two drafts a cycle and one more: an accept length of 100 would be an improvement beyond anything."""
    headline = refused(eagle3(verify_ct=3))

    assert "accept length 85.33" in headline
    assert "2 steps give at most 3 tokens a verify call" in headline


@pytest.mark.parametrize("verify_ct", [85, 255, 256])
def test_all_drafts_accepted_or_none_is_possible(verify_ct: int) -> None:
    """The first token of 256 is prefill's: 85 calls of three tokens make the others, an accept length of 3.01."""
    found = established(eagle3(verify_ct=verify_ct))

    assert isinstance(found, Established), found.headline


def test_lossless_output_is_judged_whatever_the_server_tells_of_its_speed() -> None:
    found = establish(make_launch(lying(series(), 2.0)), "single", at_least=6, decode=False)

    assert isinstance(found, Established)
