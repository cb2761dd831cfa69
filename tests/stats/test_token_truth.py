"""Latency of tokens as the client stamps them, against what the simulated server really sent, and when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.simbox.serving import EAGLE3, TUNED, Serving, serving
from tokgate.client.exchange import Request, Target
from tokgate.client.interpret import interpret
from tokgate.client.stream import run_batch
from tokgate.records import Generation
from tokgate.stats.token_latency import FEWEST, GAPS, TOKENS, token_times

AT_ONCE = 4
LIMIT = 0.01
# Cycles of a sixth of a second: on a busy machine a chunk lies a millisecond in a socket before anyone wakes.
SLOW = "verify_factor = 6.0\n"


def streamed(server: Serving, tokens: int) -> list[Generation]:
    """One barrier start of four prompts."""
    sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
    requests = [
        Request(
            request_id=f"r{n}",
            endpoint="generate",
            payload={"text": f"prompt {n}", "sampling_params": sampling, "stream": True},
            asked_tokens=tokens,
        )
        for n in range(AT_ONCE)
    ]
    outcome = run_batch(Target("127.0.0.1", server.port), requests, timeout_s=30.0)
    return [
        interpret(raw, launch="01", workload="single", index=n, slot=n)
        for n, raw in enumerate(outcome.responses)
    ]


def sent(requests: Sequence[dict[str, Any]], tokens: int, interval: int) -> list[tuple[float, int]]:
    """Return ms before each chunk that was sent and the tokens in it, from the truth file alone."""
    found = []
    for request in requests:
        counts, chunks = [1], [1] if interval == 1 else []
        for drafts in request["accepted"]:
            counts.append(min(counts[-1] + 1 + drafts, tokens))
            if counts[-1] == tokens or counts[-1] // interval > counts[-2] // interval:
                chunks.append(counts[-1])
        stamps = request["chunk_ns"]
        assert len(stamps) == len(chunks)
        found += [
            ((stamps[n] - stamps[n - 1]) / 1e6, chunks[n] - chunks[n - 1]) for n in range(1, len(stamps))
        ]
    return found


def longest_way_ms(generations: Sequence[Generation], requests: Sequence[dict[str, Any]]) -> float:
    """Return how long a chunk was on its way at most: a stream's chunks arrive in the order they were sent."""
    arrived = sorted(stamp for g in generations for stamp in g.chunk_ns)
    left = sorted(stamp for r in requests for stamp in r["chunk_ns"])
    return max(float(there - here) for here, there in zip(left, arrived, strict=True)) / 1e6


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


@pytest.mark.parametrize(
    ("tokens", "interval"), [(28, 1), (24, 8), pytest.param(56, 1, marks=pytest.mark.slow)]
)
def test_every_quantile_is_that_of_the_truth(tmp_path: Path, tokens: int, interval: int) -> None:
    arguments = [*EAGLE3, "--tp-size", "2", "--stream-interval", str(interval)]
    with serving(tmp_path / "box", *arguments, knobs=SLOW, **TUNED) as server:
        for attempt in range(1, 6):
            generations = streamed(server, tokens)
            requests = server.truth("request", expected=attempt * AT_ONCE)[-AT_ONCE:]
            way_ms = longest_way_ms(generations, requests)
            if way_ms < 1.0:
                break  # else the machine was too busy for this start to say much
    chunks, found = sent(requests, tokens, interval), token_times(generations)

    each_token = [ms / tokens for ms, tokens in chunks for _ in range(tokens)]
    gaps = [ms for ms, _ in chunks]
    truth = {
        "token_ms": quantile(each_token, 0.5),
        "token_p95_ms": quantile(each_token, 0.95),
        "token_p99_ms": quantile(each_token, 0.99),
        "chunk_gap_p95_ms": quantile(gaps, 0.95),
        "chunk_gap_p99_ms": quantile(gaps, 0.99),
    }
    assert (found.tokens, found.gaps) == (len(each_token), len(gaps))
    assert {name for name in truth if FEWEST[{**TOKENS, **GAPS}[name]] <= len(gaps)} == set(found.values)
    for name, value in found.values.items():
        # No gap is off by more than its chunks were on their way.
        assert value == pytest.approx(truth[name], abs=max(LIMIT * truth[name], way_ms)), name
    cycles = sum(g.counters.spec.verify_ct or 0 for g in generations if g.counters and g.counters.spec)
    assert found.crowded == (0 if interval == 1 else cycles - len(gaps))
