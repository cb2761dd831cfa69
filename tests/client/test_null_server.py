from __future__ import annotations

import json
import re
import urllib.request

import pytest

from tokgate.client.exchange import Request, Target
from tokgate.client.headroom import null_requests, null_server
from tokgate.client.interpret import interpret
from tokgate.client.stream import BatchOutcome, run_batch
from tokgate.records import Generation


def generations(outcome: BatchOutcome) -> list[Generation]:
    return [interpret(raw, launch="l", workload="w", index=i) for i, raw in enumerate(outcome.responses)]


@pytest.mark.parametrize("pattern", ["even", "burst"])
def test_every_stream_gets_its_events_and_the_server_says_how_late_it_was(pattern: str) -> None:
    with null_server("--rate", "200", "--pattern", pattern) as server:
        outcome = run_batch(Target("127.0.0.1", server.port), null_requests(5, 12), timeout_s=20)
        report = server.finish()
    assert [generation.status for generation in generations(outcome)] == ["good"] * 5
    assert (report["streams"], report["events"], report["dropped"]) == (5, 60, 0)
    assert 0 <= report["late_p50_ms"] <= report["late_p99_ms"]


def test_at_its_rate() -> None:
    with null_server("--rate", "100") as server:
        outcome = run_batch(Target("127.0.0.1", server.port), null_requests(1, 31), timeout_s=20)
    (generation,) = generations(outcome)
    seconds = (generation.chunk_ns[-1] - generation.chunk_ns[0]) / 1e9
    # 30 intervals of 10 ms; a busy machine can only delay the last event, not hasten it.
    assert seconds > 0.25


def test_bursts_leave_together() -> None:
    with null_server("--rate", "20", "--pattern", "burst", "--keep-sends") as server:
        requests = [
            Request(f"{i}", "generate", {"rid": f"{i}", "sampling_params": {"max_new_tokens": 4}}, 4)
            for i in range(3)
        ]
        run_batch(Target("127.0.0.1", server.port), requests, timeout_s=20)
        sends = server.finish()["sends"]
    assert sorted(sends) == ["0", "1", "2"]
    assert all(len(times) == 4 for times in sends.values())


def test_cumulative_bodies_repeat_what_came_before() -> None:
    with null_server("--rate", "500", "--cumulative", "--pad", "3") as server:
        outcome = run_batch(Target("127.0.0.1", server.port), null_requests(1, 5), timeout_s=20)
    (generation,) = generations(outcome)
    assert generation.output_ids == (7,) * 5
    texts = re.findall(rb'"text":"(x+)"', outcome.responses[0].wire)
    assert [len(text) for text in texts] == [3, 6, 9, 12, 15]


def test_any_get_is_answered() -> None:
    with null_server() as server:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/server_info", timeout=10) as response:
            assert json.load(response) == {}
        report = server.finish()
    assert report["events"] == 0
    assert report["late_p99_ms"] is None


def test_a_client_that_goes_away_is_no_trouble_for_the_others() -> None:
    with null_server("--rate", "100") as server:
        target = Target("127.0.0.1", server.port)
        run_batch(target, null_requests(2, 1000), timeout_s=0.1)
        outcome = run_batch(target, null_requests(1, 20), timeout_s=20)
        report = server.finish()
    assert generations(outcome)[0].good
    assert report["dropped"] == 2
