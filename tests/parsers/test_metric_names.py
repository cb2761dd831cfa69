from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.parsers.metric_names import golden_families, missing_families
from tokgate.parsers.prometheus import read_metrics

DATA = Path(__file__).parent / "data" / "prometheus"


def names(version: str) -> dict[str, str]:
    return {key: family.name for key, family in (golden_families(version) or {}).items()}


@pytest.mark.parametrize("version", ["0.5.23", "0.5.23.post1", "v0.5.23", "0.5.23.dev4+gabcdef", "0.6"])
def test_current_names(version: str) -> None:
    told = names(version)
    assert told["verify_calls"] == "sglang:spec_verify_calls_total"
    assert told["device_seconds"] == "sglang:forward_execution_seconds_total"


def test_an_older_version_tells_less() -> None:
    assert "verify_calls" not in names("0.5.12")
    assert names("0.5.10")["device_seconds"] == "sglang:gpu_execution_seconds_total"
    assert names("0.3.6").keys() == {
        "generated_tokens",
        "prompt_tokens",
        "ttft",
        "e2e_latency",
        "running_requests",
        "queued_requests",
        "gen_throughput",
    }


def test_no_version_is_not_an_empty_one() -> None:
    assert golden_families("unknown") is None
    assert missing_families(read_metrics(""), "") is None


def test_a_scrape_is_held_against_the_names() -> None:
    scrape = read_metrics((DATA / "0.5.16_eagle3_before.prom").read_text())
    assert missing_families(scrape, "0.5.16") == ()
    without = read_metrics(
        (DATA / "0.5.16_eagle3_before.prom").read_text().replace("is_cuda_graph", "uses_graph")
    )
    assert missing_families(without, "0.5.16") == ("sglang:is_cuda_graph",)


def test_every_row_says_what_it_counts() -> None:
    for family in (golden_families("0.5.23") or {}).values():
        assert family.name.startswith("sglang:")
        assert (family.type == "counter") == family.name.endswith("_total")
