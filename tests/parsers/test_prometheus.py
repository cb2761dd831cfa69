"""Pairs under data/prometheus: a scrape of our own making, and what is read from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokgate.parsers.prometheus import (
    Scrape,
    canonical,
    delta,
    first_reset,
    model_of,
    read_metrics,
    series,
)

DATA = Path(__file__).parent / "data" / "prometheus"
CASES = sorted(path.stem for path in DATA.glob("*.prom"))

GRAPH = "sglang:cuda_graph_passes_total"
VERIFY = "sglang:spec_verify_calls_total"
TOKENS = "sglang:generation_tokens_total"


def told(scrape: Scrape) -> dict[str, Any]:
    return {
        "model": model_of(scrape),
        "complete": scrape.complete,
        "families": {
            name: [family.type, [[s.name, s.labels, repr(s.value)] for s in family.samples]]
            for name, family in scrape.families.items()
        },
        "unread": [[unread.line, unread.text] for unread in scrape.unread],
    }


def scraped(case: str) -> Scrape:
    return read_metrics((DATA / f"{case}.prom").read_text())


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    assert told(scraped(case)) == json.loads((DATA / f"{case}.json").read_text())


def test_there_are_pairs() -> None:
    assert len(CASES) >= 6


BEFORE, AFTER = scraped("0.5.16_eagle3_before"), scraped("0.5.16_eagle3_after")


def test_counters_are_subtracted() -> None:
    passes = delta(BEFORE, AFTER, GRAPH, mode="decode_cuda_graph", tp_rank="0")
    assert (passes.value, passes.why, passes.series) == (254.0, None, 1)
    assert delta(BEFORE, AFTER, TOKENS).value == 512.0


def test_parts_of_a_histogram_are_counters() -> None:
    assert delta(BEFORE, AFTER, "sglang:time_to_first_token_seconds_count").value == 2.0
    assert delta(BEFORE, AFTER, "sglang:time_to_first_token_seconds_sum").value == pytest.approx(0.3)
    assert delta(BEFORE, AFTER, "sglang:time_to_first_token_seconds_bucket", le="0.1").value == 2.0


def test_a_counter_that_appeared_counts_from_zero() -> None:
    assert delta(BEFORE, AFTER, VERIFY).value == 254.0
    seconds = delta(BEFORE, AFTER, "sglang:forward_execution_seconds_total")
    assert seconds.value == pytest.approx(1.414)
    assert seconds.series == 2


def test_ranks_are_not_added_up() -> None:
    both = delta(BEFORE, AFTER, GRAPH, mode="decode_cuda_graph")
    assert both.value is None
    assert both.why is not None
    assert "counted per rank: name one of tp_rank=0/1" in both.why


def test_a_gauge_is_refused() -> None:
    gauge = delta(BEFORE, AFTER, "sglang:gen_throughput")
    assert (gauge.value, gauge.why) == (
        None,
        "sglang:gen_throughput is a gauge: only counters can be subtracted",
    )


def test_what_is_not_there_is_unknown_not_zero() -> None:
    absent = delta(BEFORE, AFTER, "sglang:nonsense_total", mode="x")
    assert (absent.value, absent.why) == (None, "sglang:nonsense_total{'mode': 'x'} is in neither scrape")
    assert delta(BEFORE, BEFORE, VERIFY).value is None
    empty = scraped("empty")
    assert delta(empty, empty, TOKENS).value is None


def test_nothing_happened_is_zero() -> None:
    assert delta(AFTER, AFTER, VERIFY).value == 0.0


def test_a_restart_is_seen_even_where_the_asked_counter_has_overtaken() -> None:
    restarted = read_metrics((DATA / "0.5.16_eagle3_after.prom").read_text().replace("} 6.0", "} 1.0"))
    told_of = delta(BEFORE, restarted, TOKENS)
    assert told_of.value is None
    assert told_of.why is not None
    assert told_of.why.startswith("the server restarted between the scrapes: ")
    assert first_reset(BEFORE, AFTER) is None


def test_the_last_digit_of_a_sum_over_files_is_no_restart() -> None:
    text = '# TYPE sglang:cpu_seconds_total counter\nsglang:cpu_seconds_total{component="x"} '
    before, after = read_metrics(f"{text}12.300000000000001\n"), read_metrics(f"{text}12.3\n")
    assert delta(before, after, "sglang:cpu_seconds_total").value == pytest.approx(0, abs=1e-9)


def test_a_series_that_went_missing_is_said() -> None:
    lost = delta(AFTER, scraped("empty"), VERIFY)
    assert (lost.value, lost.why) == (None, f"1 series of {VERIFY} are gone from the later scrape")


def test_a_damaged_first_scrape_cannot_prove_that_a_counter_was_not_there() -> None:
    cut = read_metrics((DATA / "0.5.16_eagle3_before.prom").read_text()[:-3])
    assert not cut.complete
    why = delta(cut, AFTER, VERIFY).why
    assert why == f"{VERIFY} may be missing from the earlier scrape, which was damaged"
    assert delta(cut, AFTER, TOKENS).value == 512.0


def test_a_series_given_twice_is_no_number() -> None:
    twice = read_metrics('sglang:a_total{x="1"} 1\nsglang:a_total{x="1"} 2\n')
    assert delta(twice, twice, "sglang:a_total").why == "sglang:a_total has a series twice in one scrape"


def test_what_is_not_finite_is_no_number() -> None:
    odd = read_metrics("sglang:a_total NaN\n")
    assert delta(odd, odd, "sglang:a_total").why == "sglang:a_total is not a finite number"


def test_a_sidecars_names_are_the_same_families() -> None:
    sidecar = scraped("sidecar_underscores")
    assert canonical("sglang_num_running_reqs") == "sglang:num_running_reqs"
    assert [s.value for s in series(sidecar, "sglang:realtime_tokens_total", mode="decode")] == [90.0]
    # It prints no TYPE for the first family; its name says that it counts.
    assert delta(sidecar, sidecar, "sglang_cuda_graph_passes_total").value == 0.0


def test_an_untyped_name_that_does_not_say_it_counts_is_refused() -> None:
    odd = read_metrics("sglang:speed 3\n")
    assert delta(odd, odd, "sglang:speed").value is None


def test_two_models_are_not_one() -> None:
    text = 'sglang:a{model_name="x"} 1\nsglang:a{model_name="y"} 1\n'
    assert model_of(read_metrics(text)) is None


def test_an_endless_line_is_cut_off() -> None:
    scrape = read_metrics("sglang:a" + "{" * 200_000 + "\n" + "sglang:b_total 1\n")
    assert [len(unread.text) for unread in scrape.unread] == [500]
    assert "sglang:b_total" in scrape.families


def test_a_flood_of_bad_lines_is_counted_not_kept() -> None:
    scrape = read_metrics("}\n" * 1000)
    assert len(scrape.unread) == 201
    assert scrape.unread[-1].why == "and 800 more lines"


def test_series_too_large_to_be_added_up_make_no_difference() -> None:
    before, after = (
        read_metrics(
            "# TYPE x_total counter\n" + "".join(f'x_total{{a="{n}"}} {value}\n' for n in range(3)),
        )
        for value in ("1", "1.7e308")
    )
    assert "too large" in (delta(before, after, "x_total").why or "")
