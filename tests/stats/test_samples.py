from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import MS, make_generation
from tokgate.records import Generation, GenerationStatus, Sample, ServerCounters, SpecCounters
from tokgate.records.metric_names import METRIC_NAMES, PHASE_METRIC_NAMES, TOKEN_METRIC_NAMES
from tokgate.stats.samples import UNITS, batch_samples, samples_of


def by_metric(generation: Generation) -> dict[str, Sample]:
    return {s.metric: s for s in samples_of(generation)}


def told(**counters: Any) -> ServerCounters:
    return ServerCounters(dialect="0.5.13", **counters)


def test_every_metric_has_a_unit() -> None:
    assert set(UNITS) == set(METRIC_NAMES) - {*PHASE_METRIC_NAMES, *TOKEN_METRIC_NAMES}


def test_a_plain_generation() -> None:
    """32 tokens, the first after 20 ms, then one every 10 ms."""
    found = by_metric(make_generation(tokens=32, tok_s=100.0, ttft_ms=20.0))

    assert {m: s.value for m, s in found.items()} == pytest.approx(
        {
            "decode_tok_s": 100.0,
            "client_decode_tok_s": 100.0,
            "ttft_ms": 20.0,
            "tpot_ms": 10.0,
            "e2e_ms": 330.0,
        }
    )
    assert found["decode_tok_s"].source == "meta_info.decode_throughput"
    assert "chunk" in found["tpot_ms"].source
    assert all(s.warnings == () for s in found.values())


def test_without_the_servers_rate_the_clients_stands_in_and_says_so() -> None:
    silent = make_generation(tokens=32, tok_s=100.0, counters=told(completion_tokens=32))
    sample = by_metric(silent)["decode_tok_s"]

    assert sample.value == pytest.approx(100.0)
    assert sample.source.startswith("client")


def test_decode_leaves_out_the_first_token_but_accept_length_counts_it() -> None:
    """meta_info of a real stream of 32 tokens in 11 verify calls, EAGLE-3 pinned at 3."""
    generation = make_generation(
        tokens=32,
        counters=told(
            completion_tokens=32,
            e2e_latency_s=0.12631194,
            first_token_latency_s=0.01040894,
            decode_throughput=267.465033,
            spec=SpecCounters(verify_ct=11, accept_length=32 / 11),
        ),
    )
    found = by_metric(generation)

    assert found["accept_length"].value == pytest.approx(2.909090909)
    assert found["cycle_ms"].value == pytest.approx(115.903 / 11)
    assert found["decode_tok_s"].value == pytest.approx(31 / 0.115903, rel=1e-5)


@pytest.mark.parametrize(
    ("counters", "source"),
    [
        (told(completion_tokens=101, e2e_latency_s=1.02, first_token_latency_s=0.02), "e2e_latency"),
        (told(completion_tokens=101, decode_throughput=100.0), "decode_throughput"),
        (told(completion_tokens=101), "client"),
    ],
)
def test_cycle_time_from_whatever_tells_the_decode_time(counters: ServerCounters, source: str) -> None:
    """One second of decoding in 50 verify calls, told in three ways."""
    counters = counters.model_copy(update={"spec": SpecCounters(verify_ct=50)})
    sample = by_metric(make_generation(tokens=101, tok_s=100.0, counters=counters))["cycle_ms"]

    assert sample.value == pytest.approx(20.0)
    assert source in sample.source


def test_several_tokens_in_a_chunk_do_not_shorten_the_token_time() -> None:
    """A speculative stream: 1, 4, 7, 10 tokens so far; nine tokens in 300 ms."""
    generation = make_generation(
        tokens=10,
        chunk_ns=(20 * MS, 120 * MS, 220 * MS, 320 * MS),
        chunk_tokens=(1, 4, 7, 10),
    )

    assert by_metric(generation)["tpot_ms"].value == pytest.approx(300 / 9)


def test_tokens_that_came_in_the_first_chunk_are_not_decoded_after_it() -> None:
    generation = make_generation(tokens=10, chunk_ns=(20 * MS, 120 * MS), chunk_tokens=(4, 10))

    assert by_metric(generation)["tpot_ms"].value == pytest.approx(100 / 6)


@pytest.mark.parametrize(
    ("changes", "metric", "why"),
    [
        ({"chunk_ns": (20 * MS,), "chunk_tokens": (1,)}, "tpot_ms", "1 chunk"),
        ({"chunk_ns": (), "chunk_tokens": ()}, "ttft_ms", "no chunk"),
        ({"counters": None, "chunk_tokens": None}, "decode_tok_s", "completion_tokens"),
        ({"end_ns": None}, "e2e_ms", "no end"),
        ({"chunk_ns": (20 * MS, 20 * MS), "chunk_tokens": (1, 256)}, "tpot_ms", "0.000000 s"),
        (
            {"counters": told(completion_tokens=256, spec=SpecCounters(verify_ct=0))},
            "cycle_ms",
            "spec_verify_ct is 0",
        ),
        (
            {"counters": told(completion_tokens=256, spec=SpecCounters())},
            "accept_length",
            "spec_verify_ct",
        ),
    ],
)
def test_what_cannot_be_known_is_none_with_its_reason(changes: dict[str, Any], metric: str, why: str) -> None:
    sample = by_metric(make_generation(**changes))[metric]

    assert sample.value is None
    assert sample.why is not None
    assert why in sample.why


def test_client_and_server_that_disagree_are_told() -> None:
    generation = make_generation(tok_s=100.0)
    assert generation.counters is not None
    off = generation.counters.model_copy(update={"decode_throughput": 97.0})

    sample = by_metric(generation.model_copy(update={"counters": off}))["decode_tok_s"]

    assert sample.value == 97.0
    assert sample.warnings == ("the client saw 100.00 tok/s where the server says 97.00: more than 2% apart",)


def test_contradictory_counters_make_every_number_unusable() -> None:
    liar = told(
        completion_tokens=256, decode_throughput=44.6, contradictions=("cached 9 of 8 prompt tokens",)
    )
    found = by_metric(make_generation(counters=liar))

    assert found
    assert all(s.value is None and s.why is not None and "cached 9 of 8" in s.why for s in found.values())


@pytest.mark.parametrize("status", [s for s in GenerationStatus if s is not GenerationStatus.GOOD])
def test_a_failed_generation_has_no_numbers(status: GenerationStatus) -> None:
    assert samples_of(make_generation(status=status, why="planted")) == ()


def test_a_warm_up_has_no_numbers() -> None:
    warmup = make_generation(warmup=True)

    assert samples_of(warmup) == ()
    assert batch_samples([warmup]) == ()


def test_the_total_of_a_start_spans_first_sent_to_last_end() -> None:
    """128 + 128 tokens from 1.0 s to 3.0 s."""
    start = [
        make_generation(index=i, batch=4, slot=i, tokens=128, sent_ns=sent * MS, end_ns=end * MS)
        for i, (sent, end) in enumerate(((1000, 2500), (1100, 3000)))
    ]
    (sample,) = batch_samples(start)

    assert (sample.metric, sample.index) == ("total_tok_s", 4)
    assert sample.value == pytest.approx(128.0)


def test_one_failure_spoils_the_total_of_its_start() -> None:
    start = [
        make_generation(index=0, batch=0),
        make_generation(index=1, batch=0, status=GenerationStatus.CUT, why="cut"),
    ]
    (sample,) = batch_samples(start)

    assert sample.value is None
    assert sample.why == "1 of 2 generations of the start failed"


def test_no_generations_have_no_total() -> None:
    assert batch_samples([]) == ()


def test_two_starts_are_not_one() -> None:
    with pytest.raises(ValueError, match="more than one barrier start"):
        batch_samples([make_generation(batch=0), make_generation(batch=1)])


def test_what_no_server_can_do_is_no_measurement() -> None:
    """Its sums would overflow, and cost the whole report."""
    boasting = make_generation(
        tokens=32,
        counters=told(
            completion_tokens=32,
            decode_throughput=1e308,
            spec=SpecCounters(verify_ct=None, accept_length=1e308),
        ),
    )
    found = by_metric(boasting)

    assert found["decode_tok_s"].source.startswith("client")
    assert found["accept_length"].value is None
    assert "1e+308" in (found["accept_length"].why or "")


def test_a_rate_that_the_client_could_not_see_says_so() -> None:
    burst = make_generation(tokens=32)
    burst = burst.model_copy(update={"chunk_ns": (burst.end_ns,) * 32})

    assert "stands alone" in by_metric(burst)["decode_tok_s"].warnings[0]
