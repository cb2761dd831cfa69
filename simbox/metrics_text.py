"""/metrics in the families and labels of the version spoken. The first line says that nothing of it is real."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simbox import MARK
from simbox.counters import Counters, Histogram


@dataclass(frozen=True)
class Gauges:
    """What is read at the moment of asking."""

    running: int
    queued: int
    used_tokens: int
    max_tokens: int
    draft_steps: int  # 0 without speculation
    draft_tokens: int
    device_timer: bool  # SGLANG_ENABLE_METRICS_DEVICE_TIMER=1
    lie: float  # gauge_factor


def text(counters: Counters, gauges: Gauges, *, version: str, model: str) -> str:
    """Return the whole page."""
    rank = _labels(version, model, rank=True)
    server = _labels(version, model, rank=False)
    lines = [f"# {MARK}: no number here comes from a GPU"]
    for name, kind, words, value in _scalars(counters, gauges):
        where = rank if kind == "gauge" else server
        lines += [
            f"# HELP sglang:{name} {words}",
            f"# TYPE sglang:{name} {kind}",
            f"sglang:{name}{{{where}}} {float(value)}",
        ]
    lines += _family(
        "cuda_graph_passes_total",
        "Total number of forward passes categorized by CUDA graph.",
        "mode",
        counters.passes,
        rank,
    )
    if gauges.device_timer:
        words = "Total time that GPU is busy executing model forward passes. Refer to ForwardMode for category labels."
        lines += _family("forward_execution_seconds_total", words, "category", counters.phase_s, rank)
    lines += [
        "# HELP sglang:http_responses_total Total number of HTTP responses.",
        "# TYPE sglang:http_responses_total counter",
    ]
    lines += [
        f'sglang:http_responses_total{{endpoint="{path}",status_code="{status}"}} {float(count)}'
        for (path, status), count in sorted(counters.responses.items())
    ]
    for name, words, histogram in (
        ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", counters.ttft),
        ("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", counters.e2e),
        ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", counters.itl),
    ):
        lines += _histogram(name, words, histogram, server)
    return "\n".join(lines) + "\n"


def _labels(version: str, model: str, *, rank: bool) -> str:
    labels = {"engine_type": "unified", "model_name": model.replace("\\", "\\\\").replace('"', '\\"')}
    if rank:
        labels |= {"moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
    if version == "0.5.9":
        labels = {k: v for k, v in labels.items() if k != "engine_type" or rank}
    return ",".join(f'{k}="{v}"' for k, v in sorted(labels.items()))


def _scalars(counters: Counters, gauges: Gauges) -> Iterator[tuple[str, str, str, float]]:
    usage = gauges.used_tokens / max(1, gauges.max_tokens)
    yield "num_running_reqs", "gauge", "The number of running requests.", gauges.running
    yield "num_queue_reqs", "gauge", "The number of requests in the waiting queue.", gauges.queued
    yield "num_used_tokens", "gauge", "The number of used tokens.", gauges.used_tokens
    yield (
        "max_total_num_tokens",
        "gauge",
        "Maximum total number of tokens in the KV cache pool.",
        gauges.max_tokens,
    )
    yield "token_usage", "gauge", "The token usage.", usage
    yield "gen_throughput", "gauge", "The generation throughput (token/s).", counters.last_throughput
    yield (
        "cache_hit_rate",
        "gauge",
        "The prefix cache hit rate.",
        counters.cached_tokens / max(1, counters.prompt_tokens),
    )
    # Reads 0.0 on an idle server, as the real one does.
    yield (
        "is_cuda_graph",
        "gauge",
        "Whether the batch is using CUDA graph.",
        counters.graph_now and gauges.running > 0,
    )
    if gauges.draft_tokens:
        length = counters.last_accept_length
        yield (
            "spec_accept_length",
            "gauge",
            "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward).",
            length,
        )
        rate = (length / gauges.lie - 1) / max(1, gauges.draft_tokens - 1) if length else 0.0
        yield (
            "spec_accept_rate",
            "gauge",
            "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).",
            rate,
        )
        yield "spec_num_steps", "gauge", "Currently active speculative_num_steps.", gauges.draft_steps
        yield (
            "spec_num_draft_tokens",
            "gauge",
            "Currently active speculative_num_draft_tokens (decouples from steps under topk>1).",
            gauges.draft_tokens,
        )
        yield (
            "spec_verify_calls_total",
            "counter",
            "Number of speculative decoding verification calls.",
            counters.verify_calls,
        )
    yield "prompt_tokens_total", "counter", "Number of prefill tokens processed.", counters.prompt_tokens
    yield (
        "generation_tokens_total",
        "counter",
        "Number of generation tokens processed.",
        counters.generated_tokens,
    )
    yield "cached_tokens_total", "counter", "Number of cached prompt tokens.", counters.cached_tokens
    yield "num_requests_total", "counter", "Number of requests processed.", counters.requests
    yield "num_aborted_requests_total", "counter", "Number of requests aborted.", counters.aborted


def _family(name: str, words: str, label: str, values: Any, where: str) -> list[str]:
    head = [f"# HELP sglang:{name} {words}", f"# TYPE sglang:{name} counter"]
    return head + [
        f'sglang:{name}{{{label}="{key}",{where}}} {float(value)}' for key, value in sorted(values.items())
    ]


def _histogram(name: str, words: str, histogram: Histogram, where: str) -> list[str]:
    lines = [f"# HELP sglang:{name} {words}", f"# TYPE sglang:{name} histogram"]
    buckets = [*zip(map(str, histogram.bounds), histogram.buckets, strict=True), ("+Inf", histogram.count)]
    lines += [f'sglang:{name}_bucket{{le="{bound}",{where}}} {float(count)}' for bound, count in buckets]
    return [
        *lines,
        f"sglang:{name}_sum{{{where}}} {histogram.total}",
        f"sglang:{name}_count{{{where}}} {float(histogram.count)}",
    ]
