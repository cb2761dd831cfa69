from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.verdicts.evidence import MS, make_generation
from tokgate.records import Generation, SpecCounters
from tokgate.stats.token_latency import token_times


def stream(*chunks: tuple[float, int], verify_ct: int | None = None, prefill: int = 1) -> Generation:
    """A stream whose first chunk holds `prefill` tokens, then `chunks`: ms after the one before, tokens."""
    stamps, counts = [20 * MS], [prefill]
    for gap_ms, tokens in chunks:
        stamps.append(stamps[-1] + round(gap_ms * MS))
        counts.append(counts[-1] + tokens)
    decode_s = (stamps[-1] - stamps[0]) / 1e9
    generation = make_generation(
        tokens=counts[-1],
        tok_s=(counts[-1] - prefill) / decode_s if decode_s else 44.6,
        chunk_ns=tuple(stamps),
        chunk_tokens=tuple(counts),
        end_ns=stamps[-1],
    )
    if verify_ct is None or generation.counters is None:
        return generation
    counters = generation.counters.model_copy(update={"spec": SpecCounters(verify_ct=verify_ct)})
    return generation.model_copy(update={"counters": counters})


def even(cycles: Sequence[int], ms: float = 20.0) -> Generation:
    return stream(*((ms, tokens) for tokens in cycles), verify_ct=len(cycles))


def test_a_chunk_is_not_a_token() -> None:
    """Cycles of 20 ms that yield 1, 2 and 3 tokens by turns: half of all tokens come three at a time."""
    found = token_times([even([1, 2, 3] * 40)])

    assert found.values == pytest.approx(
        {
            "token_ms": 20 / 3,
            "token_p95_ms": 20.0,
            "token_p99_ms": 20.0,
            "chunk_gap_p95_ms": 20.0,
            "chunk_gap_p99_ms": 20.0,
        }
    )
    assert (found.tokens, found.gaps, found.together, found.crowded) == (240, 120, 0, 0)


def test_tokens_are_weighted_and_gaps_are_not() -> None:
    """19 tokens at 1 ms a piece in one chunk, 1 alone after 100 ms: 95 % of the tokens, half of the gaps."""
    found = token_times([stream((19.0, 19), (100.0, 1), *[(1.0, 1)] * 20)])

    assert found.values["token_p95_ms"] == 1.0
    assert found.values["chunk_gap_p95_ms"] == 19.0


def test_the_first_chunk_is_prefills_whatever_it_holds() -> None:
    assert token_times([stream((5.0, 1), prefill=7)]).tokens == 1


def test_all_streams_of_a_start_are_taken_together() -> None:
    found = token_times([even([1] * 60, ms=10.0), even([1] * 60, ms=30.0)])

    assert found.gaps == 120
    assert found.values["chunk_gap_p99_ms"] == 30.0
    assert found.values["token_ms"] == 10.0


@pytest.mark.parametrize(("gaps", "unknown"), [(19, 5 - 1), (20, 2), (99, 2), (100, 0)])
def test_a_quantile_needs_a_value_beyond_it(gaps: int, unknown: int) -> None:
    found = token_times([even([2] * gaps)])

    assert len(found.unknown) == unknown
    assert all(f"{gaps} gaps between chunks, a p9" in why for why in found.unknown.values())
    assert "token_ms" in found.values


def test_chunks_that_arrive_in_one_piece_are_taken_as_one_and_counted() -> None:
    """The client woke late once: two cycles came at the same moment."""
    late = stream((20.0, 2), (40.0, 1), (0.0, 3), (20.0, 2), verify_ct=4)
    found = token_times([late])

    assert found.together == 1
    assert found.crowded == 0
    assert (found.gaps, found.tokens) == (3, 8)
    assert found.values["token_ms"] == 10.0


def test_cycles_without_a_chunk_of_their_own_are_counted() -> None:
    """stream_interval: eight verify calls came in two chunks."""
    assert token_times([stream((80.0, 8), (80.0, 7), verify_ct=8)]).crowded == 6
    assert token_times([stream((44.0, 4), (44.0, 4))]).crowded == 6  # a plain server: a token is a step


def test_a_first_cycle_in_the_first_chunk_is_nothing() -> None:
    assert token_times([stream((20.0, 2), (20.0, 2), verify_ct=3, prefill=3)]).crowded == 0


@pytest.mark.parametrize(
    ("changes", "why", "unknown"),
    [
        ({"chunk_tokens": None}, "does not tell how many tokens a chunk has", 3),
        ({"chunk_tokens": (1, 2)}, "does not tell how many tokens a chunk has", 3),
        ({"chunk_ns": (MS, 2 * MS), "chunk_tokens": (3, 3)}, "chunks that carry no token", 3),
        ({"chunk_ns": (MS,), "chunk_tokens": (256,)}, "1 chunk(s) carried tokens: no gap between two", 5),
        ({"chunk_ns": (), "chunk_tokens": ()}, "0 chunk(s) carried tokens", 5),
        ({"chunk_ns": (MS, 3 * MS, 2 * MS), "chunk_tokens": (1, 2, 3)}, "arrived before the one in front", 5),
    ],
)
def test_one_stream_that_does_not_tell_makes_its_start_unknown(
    changes: dict[str, object], why: str, unknown: int
) -> None:
    """Without counts the gaps between chunks are known all the same."""
    found = token_times([even([1] * 120), make_generation().model_copy(update=changes)])

    assert len(found.unknown) == unknown
    assert all(why in text for text in found.unknown.values())
    assert found.tokens is None
    assert set(found.values) == ({"chunk_gap_p95_ms", "chunk_gap_p99_ms"} if unknown == 3 else set())
