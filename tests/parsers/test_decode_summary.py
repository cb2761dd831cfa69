from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.parsers.batch_lines import read_batch_lines
from tokgate.parsers.decode_summary import DecodeSummary, Load, group_by_load, summarise_decode

DATA = Path(__file__).parent / "data" / "batch_lines"


def summary(case: str, *, draft_tokens: int | None = None) -> DecodeSummary:
    text = (DATA / f"{case}.log").read_bytes().decode()
    return summarise_decode(read_batch_lines(text).decode, draft_tokens=draft_tokens)


@pytest.mark.parametrize(
    ("case", "median", "kept", "dropped"),
    [
        ("0.3.6_plain", 71.20, 3, 0),
        ("0.4.4_eagle_largest_len", 103.43, 2, 1),
        ("0.5.3_eagle3_old_rate", 141.02, 3, 1),
        ("0.5.9_npu_graph", 61.30, 1, 1),
        ("0.5.6_compose_colour_progress", 58.51, 2, 1),
        ("0.5.23_cpu_iterations_occupancy", 53.73, 2, 1),
        ("pause_without_prefill", 39.90 + 0.15, 3, 1),
    ],
)
def test_median_is_of_the_lines_that_mean_something(
    case: str, median: float, kept: int, dropped: int
) -> None:
    told = summary(case)
    assert told.median_throughput == pytest.approx(median)
    assert (len(told.kept), len(told.dropped)) == (kept, dropped)
    assert told.why_no_throughput is None


@pytest.mark.parametrize(
    ("case", "on", "off", "unknown", "share"),
    [
        ("0.3.6_plain", 0, 0, 3, None),
        ("0.5.3_eagle3_old_rate", 4, 0, 0, 1.0),
        ("0.5.5_custom_logger_ineffective", 0, 3, 0, 0.0),
        ("slowness_that_lasts", 2, 3, 0, 0.4),
        ("empty", 0, 0, 0, None),
    ],
)
def test_graph_share(case: str, on: int, off: int, unknown: int, share: float | None) -> None:
    graph = summary(case).graph
    assert (graph.on, graph.off, graph.unknown, graph.share) == (on, off, unknown, share)


@pytest.mark.parametrize(
    ("case", "speculation"),
    [
        ("0.3.6_plain", "absent"),
        ("0.5.3_eagle3_old_rate", "effective"),
        ("0.5.5_custom_logger_ineffective", "ineffective"),
        ("prefill_only", "unknown"),
        ("empty", "unknown"),
    ],
)
def test_speculation_off_is_not_speculation_useless(case: str, speculation: str) -> None:
    assert summary(case).speculation == speculation


def test_lines_of_two_servers_are_not_called_one() -> None:
    text = (DATA / "0.3.6_plain.log").read_text() + (DATA / "0.5.3_eagle3_old_rate.log").read_text()
    assert summarise_decode(read_batch_lines(text).decode).speculation == "mixed"


def test_the_rate_is_derived_from_the_length() -> None:
    told = summary("0.5.3_eagle3_old_rate")
    assert told.mean_accept_len == pytest.approx((2.10 + 2.40 + 1.90) / 3)
    # 5 draft tokens by the printed rates; the printed 0.43 would have looked better than it was.
    assert told.accept_rate.rate == pytest.approx((told.mean_accept_len or 0) / 4 - 1 / 4)


def test_a_mixture_of_contexts_has_no_median() -> None:
    told = summary("0.5.17_two_contexts")
    assert told.median_throughput is None
    assert told.why_no_throughput == (
        "a mixture: context lengths from 768, 180544 tokens; group by load first"
    )
    readings = read_batch_lines((DATA / "0.5.17_two_contexts.log").read_text()).decode
    groups = group_by_load(readings)
    assert {load: [r.line for r in lines] for load, lines in groups.items()} == {
        Load(1, None): [1],
        Load(1, 640): [3, 4],
        Load(1, 180416): [7, 8, 9],
    }
    assert summarise_decode(groups[Load(1, 180416)]).median_throughput == pytest.approx(99.975)


def test_a_mixture_of_loads_has_no_median_and_the_line_between_is_dropped() -> None:
    told = summary("load_that_changes")
    assert told.why_no_throughput == "a mixture: 1 to 4 requests ran; group by load first"
    assert [(d.gen_throughput, d.why) for d in told.dropped] == [
        (140.0, "first after a prefill line"),
        (131.0, "the number of running requests changed within its span"),
    ]
    readings = read_batch_lines((DATA / "load_that_changes.log").read_text()).decode
    medians = {
        load.running_req: summarise_decode(lines).median_throughput
        for load, lines in group_by_load(readings).items()
    }
    assert medians == {4: 201.0, 1: 60.0}


def test_the_log_checks_itself_against_its_own_token_count() -> None:
    assert summary("0.5.3_eagle3_old_rate").token_check.steps_per_line == pytest.approx(40)
    assert summary("0.5.23_cpu_iterations_occupancy").token_check.steps_per_line == pytest.approx(40)
    frozen = summary("token_count_stands_still")
    assert frozen.token_check.why == "the token count stands still while tokens flow"
    assert frozen.median_throughput == 95.0
    assert summary("0.5.17_two_contexts").token_check.why == "tokens are counted in whole pages"


def test_what_spoils_a_comparison_is_said() -> None:
    full = summary("0.5.12_pool_full").warnings
    assert "3 of 3 lines with a full KV pool: not comparable with a baseline" in full
    assert "2 lines with a damaged or unknown prefix" in full
    assert "requests were queueing at 3 of 3 lines" in full
    per_rank = summary("0.4.8_dp_decode_side_torn")
    assert per_rank.dp_ranks == ("DP2 TP2", "DP6 TP6")
    assert "throughput is per DP rank: never compare it with a server's total" in per_rank.warnings
    assert "graphs were used at some lines and not at others" in summary("slowness_that_lasts").warnings


def test_nothing_is_not_zero() -> None:
    told = summary("prefill_only")
    assert told.median_throughput is None
    assert told.why_no_throughput == "no decode line is left"
    assert told.mean_accept_len is None
    assert told.accept_rate.rate is None
