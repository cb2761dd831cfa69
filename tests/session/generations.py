"""Generations as a plain server would yield them."""

from __future__ import annotations

from tokgate.records import Generation, GenerationStatus, ServerCounters

MS = 1_000_000


def generation(
    *,
    index: int,
    warmup: bool = False,
    status: str = "good",
    why: str | None = None,
    launch: str = "01-baseline",
    workload: str = "single",
    tokens: int = 16,
) -> Generation:
    """`tokens` tokens, the first after 10 ms, then one every 20 ms: 50 tok/s."""
    good = status == "good"
    stamps = tuple(10 * MS + 20 * MS * i for i in range(tokens))
    return Generation(
        request_id=f"{launch}-{workload}-{index}",
        launch=launch,
        workload=workload,
        index=index,
        batch=index,
        warmup=warmup,
        status=GenerationStatus(status),
        why=why if why or good else "planted",
        http_status=200,
        asked_tokens=tokens,
        sent_ns=0,
        first_byte_ns=stamps[0],
        end_ns=stamps[-1],
        chunk_ns=stamps,
        chunk_tokens=tuple(range(1, tokens + 1)),
        counters=ServerCounters(
            dialect="0.5.13",
            prompt_tokens=8,
            completion_tokens=tokens,
            cached_tokens=0,
            e2e_latency_s=stamps[-1] / 1e9,
            first_token_latency_s=0.010,
            decode_throughput=50.0,
            finish_reason="length",
        ),
        output_ids=tuple(range(tokens)),
    )
