from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.stats.test_token_latency import even, stream
from tests.verdicts.evidence import ONE_RUN, make_launch, make_rig, restarted
from tokgate.records import Generation, LaunchEvidence, Outcome, Verdict
from tokgate.verdicts.checks.token_latency import token_latency

NAME = "02-eagle3-2step"
CYCLES = [1, 2, 3] * 40  # 241 tokens
RIG: dict[str, Any] = {
    "workloads": [{"name": "single", "prompts": "ids", "output_tokens": 241, "repeats": 6}]
}


def launch(*streams: Generation) -> LaunchEvidence:
    generations = tuple(
        s.model_copy(update={"launch": NAME, "request_id": f"r{n}", "index": n, "batch": n})
        for n, s in enumerate(streams)
    )
    return make_launch(generations, id=NAME, arm="eagle3-2step", role="arm")


def judged(
    arm: LaunchEvidence | Sequence[LaunchEvidence], *budgets: dict[str, Any], **rig: Any
) -> tuple[Verdict, ...]:
    """Where a test is about one run, no restart has to confirm what it shows."""
    sampling = ONE_RUN if isinstance(arm, LaunchEvidence) else {}
    changes = {**RIG, "budgets": budgets, "sampling": sampling, **rig}
    return token_latency(make_rig(**changes), arm, "single")


def steady() -> LaunchEvidence:
    return launch(*(even(CYCLES, ms=ms) for ms in (19.8, 19.9, 20.0, 20.1, 20.2, 20.0)))


def test_without_a_budget_the_tail_is_told_and_all_the_rest_beside_it() -> None:
    (verdict,) = judged(steady())

    assert verdict.outcome is Outcome.PASS
    assert verdict.reference is None
    assert verdict.headline.startswith("token p95 20.00 ms on eagle3-2step: no budget set")
    assert verdict.evidence[1] == (
        "token p50 6.67 ms, token p95 20.00 ms, token p99 20.00 ms, gap between chunks p95 20.00 ms, "
        "gap between chunks p99 20.00 ms; 720 gaps, 1440 tokens in them"
    )
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    ("metric", "at_most", "outcome"),
    [
        ("token_ms", 7.0, Outcome.PASS),
        ("token_ms", 5.0, Outcome.REGRESSED),
        ("token_p95_ms", 20.0, Outcome.INCONCLUSIVE),
        ("token_p99_ms", 22.0, Outcome.PASS),
        ("token_p99_ms", 21.0, Outcome.INCONCLUSIVE),  # its floor is 10 %: restarts may differ by 2.5 %
        ("chunk_gap_p95_ms", 15.0, Outcome.REGRESSED),
        ("chunk_gap_p99_ms", 22.0, Outcome.PASS),
    ],
)
def test_each_metric_goes_by_its_budget(metric: str, at_most: float, outcome: Outcome) -> None:
    (verdict,) = judged(steady(), {"metric": metric, "at_most": at_most, "arm": "eagle3-2step"})

    assert verdict.metric == metric
    assert verdict.outcome is outcome


def test_a_late_token_in_one_run_wants_a_restart() -> None:
    limit = {"metric": "token_p95_ms", "at_most": 15.0, "arm": "eagle3-2step"}
    (alone,) = judged((steady(),), limit)
    (both,) = judged((steady(), restarted(steady())), limit)

    assert (alone.outcome, alone.wanted) == (Outcome.INCONCLUSIVE, {"eagle3-2step": 1})
    assert both.outcome is Outcome.REGRESSED
    assert any("1440 gaps, 2880 tokens in them" in line for line in both.evidence)


def untold() -> LaunchEvidence:
    silent = [even(CYCLES).model_copy(update={"chunk_tokens": None}) for _ in range(6)]
    return launch(*silent)


def test_counts_that_are_not_told_break_a_budget_on_tokens_and_leave_the_gaps() -> None:
    (broken,) = judged(untold(), {"metric": "token_p95_ms", "at_most": 30.0})
    (kept,) = judged(untold(), {"metric": "chunk_gap_p95_ms", "at_most": 30.0})
    (told,) = judged(untold())

    assert broken.outcome is Outcome.INVALID
    assert "the server does not tell how many tokens a chunk has" in broken.headline
    assert broken.do
    assert kept.outcome is told.outcome is Outcome.PASS
    assert told.headline.startswith("gap between chunks p95 20.00 ms")
    assert any("not told: token_ms, token_p95_ms, token_p99_ms" in line for line in told.evidence)


def test_a_stream_in_one_piece_tells_nothing_and_is_no_pass() -> None:
    one = even(CYCLES)
    piece = one.model_copy(update={"chunk_ns": one.chunk_ns[-1:], "chunk_tokens": (241,)})
    (verdict,) = judged(launch(*[piece] * 6))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "1 chunk(s) carried tokens: no gap between two" in verdict.headline
    assert verdict.do


def test_a_tail_that_too_few_gaps_can_tell_is_invalid_under_a_budget_and_says_what_is_missing() -> None:
    few = launch(*(even([3] * 80) for _ in range(6)))
    (verdict,) = judged(few, {"metric": "token_p99_ms", "at_most": 30.0})

    assert verdict.outcome is Outcome.INVALID
    assert "80 gaps between chunks, a p99 needs 100" in verdict.headline
    assert any("not told: token_p99_ms, chunk_gap_p99_ms" in line for line in judged(few)[0].evidence)


def test_bundled_cycles_and_a_late_client_are_warned_of() -> None:
    late = [(20.0, 2)] * 118 + [(40.0, 2), (0.0, 2)]
    bundled = stream(*[(40.0, 4)] * 60, verify_ct=120)
    (verdict,) = judged(launch(*(stream(*late, verify_ct=120) for _ in range(5)), bundled))

    one_piece, crowded = verdict.warnings
    assert one_piece.startswith("5 of 660 chunks arrived in one piece with the one before")
    assert crowded.startswith("60 cycles had no chunk of their own")
