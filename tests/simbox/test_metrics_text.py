"""/metrics is Prometheus text that a strict reader takes."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from simbox.counters import Counters
from simbox.metrics_text import Gauges, text

GAUGES = Gauges(
    running=0,
    queued=0,
    used_tokens=0,
    max_tokens=100,
    draft_steps=2,
    draft_tokens=3,
    device_timer=True,
    lie=1.0,
)


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_it_parses_and_counts(version: str) -> None:
    counters = Counters(generated_tokens=42, verify_calls=7, graph_now=True)
    counters.passes["decode_cuda_graph"] = 9
    counters.phase_s["target_verify"] += 1.5
    counters.ttft.add(0.15)
    counters.ttft.add(500.0)
    page = text(counters, GAUGES, version=version, model='odd "name"\\')
    families = {f.name: f for f in text_string_to_metric_families(page)}
    assert families["sglang:generation_tokens"].samples[0].value == 42
    assert families["sglang:spec_verify_calls"].samples[0].value == 7
    assert families["sglang:forward_execution_seconds"].samples[0].labels["category"] == "target_verify"
    # Idle servers read 0.0 here, whatever they did before.
    assert families["sglang:is_cuda_graph"].samples[0].value == 0.0
    buckets = {
        s.labels["le"]: s.value
        for s in families["sglang:time_to_first_token_seconds"].samples
        if s.name.endswith("_bucket")
    }
    assert (buckets["0.1"], buckets["0.2"], buckets["40.0"], buckets["+Inf"]) == (0.0, 1.0, 1.0, 2.0)
    assert families["sglang:num_running_reqs"].samples[0].labels["model_name"] == 'odd "name"\\'
