"""tokgate's own client under the same load. It starts its requests in batches, so a batch ends with its slowest."""

from __future__ import annotations

import uuid
from statistics import fmean

from benchmarks.peers.box import Figures
from benchmarks.peers.load import Load
from tokgate.client.exchange import Request, Target
from tokgate.client.interpret import interpret
from tokgate.client.stream import run_batch
from tokgate.records import Generation


def run(port: int, load: Load) -> Figures:
    target = Target("127.0.0.1", port)
    _batch(target, load, 1)
    batches = [_batch(target, load, load.concurrency) for _ in range(load.requests // load.concurrency)]
    served = [generation for batch in batches for generation in batch]
    seconds = (max(g.chunk_ns[-1] for g in served) - min(g.sent_ns for g in served)) / 1e9
    gaps = [(b - a) / 1e6 for g in served for a, b in zip(g.chunk_ns, g.chunk_ns[1:], strict=False)]
    return Figures(
        ttft_ms=fmean((g.chunk_ns[0] - g.sent_ns) / 1e6 for g in served),
        itl_ms=fmean((g.chunk_ns[-1] - g.chunk_ns[0]) / 1e6 / (g.asked_tokens - 1) for g in served),
        tok_s=sum(g.asked_tokens for g in served) / seconds,
        gap_ms=fmean(gaps),
    )


def _batch(target: Target, load: Load, streams: int) -> list[Generation]:
    sampling = {"max_new_tokens": load.output_tokens, "ignore_eos": True, "temperature": 0}
    requests = []
    for _ in range(streams):
        name = uuid.uuid4().hex
        body = {"text": name * (load.input_tokens // 32), "sampling_params": sampling, "stream": True}
        requests.append(Request(name, "generate", body, load.output_tokens))
    outcome = run_batch(target, tuple(requests), timeout_s=120.0)
    read = [interpret(raw, launch="", workload="", index=i) for i, raw in enumerate(outcome.responses)]
    for generation in read:
        if not generation.good:
            raise SystemExit(f"a generation was not good: {generation.why}")
    return read
