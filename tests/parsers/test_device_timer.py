from __future__ import annotations

import pytest

from tokgate.parsers.device_timer import DeviceTimer, read_device_timer
from tokgate.parsers.prometheus import Scrape, read_metrics
from tokgate.records.phases import Phase

SECONDS = "forward_execution_seconds_total"


def scrape(
    *,
    seconds: dict[str, float] | None = None,
    graph: float | None = 100,
    eager: float | None = None,
    verify_calls: float | None = 100,
    running: float = 0,
    ranks: tuple[str, ...] = ("0",),
    timer_ranks: tuple[str, ...] | None = None,
    name: str = SECONDS,
) -> Scrape:
    """A scrape of our own making, with the labels of SGLang 0.5.16."""
    lines = [f"# TYPE sglang:{name} counter"]
    for rank in ranks if timer_ranks is None else timer_ranks:
        lines += [
            f'sglang:{name}{{category="{category}",model_name="m",tp_rank="{rank}"}} {value!r}'
            for category, value in (seconds or {}).items()
        ]
    lines.append("# TYPE sglang:cuda_graph_passes_total counter")
    for rank in ranks:
        for mode, value in (("decode_cuda_graph", graph), ("decode_none", eager)):
            if value is not None:
                lines.append(f'sglang:cuda_graph_passes_total{{mode="{mode}",tp_rank="{rank}"}} {value!r}')
        lines.append(f'sglang:cuda_graph_passes_total{{mode="prefill_none",tp_rank="{rank}"}} 7.0')
    lines.append("# TYPE sglang:spec_verify_calls_total counter")
    if verify_calls is not None:
        lines.append(f'sglang:spec_verify_calls_total{{model_name="m"}} {verify_calls!r}')
    lines.append("# TYPE sglang:num_running_reqs gauge")
    lines.append(f'sglang:num_running_reqs{{tp_rank="0"}} {running!r}')
    return read_metrics("\n".join(lines) + "\n")


BEFORE = scrape(seconds={"extend": 0.3, "target_verify": 1.0, "eagle_draft": 0.5, "eagle_draft_extend": 0.2})
AFTER_SECONDS = {"extend": 0.5, "target_verify": 6.33, "eagle_draft": 0.75, "eagle_draft_extend": 0.49}
AFTER = scrape(seconds=AFTER_SECONDS, graph=1100, verify_calls=1100)


def means(found: DeviceTimer) -> dict[Phase, float]:
    return {r.phase: round(r.mean_ms, 6) for r in found.readings}


def test_differences_over_passes_are_milliseconds_a_call() -> None:
    found = read_device_timer(BEFORE, AFTER, concurrency=1, workload="short")
    assert means(found) == {Phase.VERIFY: 5.33, Phase.DRAFT: 0.25, Phase.DRAFT_EXTEND: 0.29}
    verify = next(r for r in found.readings if r.phase is Phase.VERIFY)
    assert (verify.n, verify.rank, verify.concurrency, verify.workload) == (1000, 0, 1, "short")
    assert (verify.source, verify.clock, verify.p50_ms, verify.graph_share) == (
        "device-timer",
        "gpu",
        None,
        1.0,
    )
    assert (found.why, verify.warnings) == (None, ())


def test_a_pass_over_sixteen_requests_is_one_call() -> None:
    """The verify-call counter says 16 000; dividing by it would make a verify of 0.33 ms."""
    after = scrape(seconds=AFTER_SECONDS, graph=1100, verify_calls=100 + 16_000)
    found = read_device_timer(BEFORE, after, concurrency=16)
    assert means(found)[Phase.VERIFY] == 5.33
    assert found.requests_a_pass == 16.0
    assert found.readings[0].warnings == ()


def test_another_load_than_was_asked_for_is_told() -> None:
    after = scrape(seconds=AFTER_SECONDS, graph=1100, verify_calls=100 + 2340)
    found = read_device_timer(BEFORE, after, concurrency=1)
    assert any("2.34 requests a pass, 1 asked for" in w for w in found.readings[0].warnings)


def test_graphs_are_counted_by_passes() -> None:
    after = scrape(seconds=AFTER_SECONDS, graph=350, eager=750, verify_calls=1100)
    (graphs,) = read_device_timer(BEFORE, after, concurrency=1).graphs
    assert (graphs.share, graphs.n, graphs.source) == (0.25, 1000, "pass-counter")


def test_graphs_are_told_without_the_timer() -> None:
    found = read_device_timer(scrape(), scrape(graph=300), concurrency=1)
    assert found.readings == ()
    assert "SGLANG_ENABLE_METRICS_DEVICE_TIMER=1" in (found.why or "")
    assert (found.graphs[0].share, found.graphs[0].n) == (1.0, 200)


def test_a_restart_between_the_scrapes_is_no_measurement() -> None:
    found = read_device_timer(AFTER, BEFORE, concurrency=1)
    assert found.readings == ()
    assert "restarted between the scrapes" in (found.why or "")


def test_a_server_that_was_not_quiet_is_told() -> None:
    busy = scrape(seconds=AFTER_SECONDS, graph=1100, verify_calls=1100, running=3)
    found = read_device_timer(BEFORE, busy, concurrency=1)
    assert "num_running_reqs was 3 after the window" in found.readings[0].warnings[0]


def test_no_pass_is_no_measurement() -> None:
    found = read_device_timer(BEFORE, BEFORE, concurrency=1)
    assert found.readings == ()
    assert "no decode pass" in (found.why or "")


def test_a_draft_outside_a_graph_is_counted_as_decode_and_its_extend_is_not_told() -> None:
    before = scrape(seconds={"target_verify": 0.0}, graph=None, eager=100)
    after = scrape(
        seconds={"target_verify": 18.0, "decode": 2.0, "extend": 3.0},
        graph=None,
        eager=1100,
        verify_calls=1100,
    )
    found = read_device_timer(before, after, concurrency=1)
    assert means(found) == {Phase.VERIFY: 18.0, Phase.DRAFT: 2.0}
    assert [w.split(":")[0] for w in found.readings[0].warnings] == [
        "the draft model runs outside a graph",
        "draft_extend is not told",
    ]
    assert found.readings[0].graph_share == 0.0


def test_a_plain_server_decodes() -> None:
    before, after = scrape(verify_calls=None), scrape(seconds={"decode": 4.5}, graph=1100, verify_calls=None)
    found = read_device_timer(before, after, concurrency=1)
    assert means(found) == {Phase.DECODE: 4.5}
    assert (found.requests_a_pass, found.readings[0].graph_share) == (None, 1.0)


def test_the_timer_of_one_rank_is_divided_by_the_passes_of_that_rank() -> None:
    ranks = ("0", "1", "2", "3")
    before = scrape(seconds={"target_verify": 0.0}, ranks=ranks, timer_ranks=("0",))
    after = scrape(
        seconds={"target_verify": 5.0}, ranks=ranks, timer_ranks=("0",), graph=1100, verify_calls=1100
    )
    found = read_device_timer(before, after, concurrency=1)
    assert [(r.rank, r.mean_ms) for r in found.readings] == [(0, 5.0)]


def test_each_rank_that_reports_has_its_own_readings() -> None:
    before = scrape(seconds={"target_verify": 0.0}, ranks=("0", "1"))
    after = scrape(seconds={"target_verify": 5.0}, ranks=("0", "1"), graph=1100, verify_calls=1100)
    assert [r.rank for r in read_device_timer(before, after, concurrency=1).readings] == [0, 1]


def test_without_a_pass_counter_one_request_at_a_time_can_be_counted_by_verify_calls() -> None:
    def without(found: Scrape) -> Scrape:
        families = {k: v for k, v in found.families.items() if "passes" not in k}
        return found.model_copy(update={"families": families})

    found = read_device_timer(without(BEFORE), without(AFTER), concurrency=1)
    assert means(found)[Phase.VERIFY] == 5.33
    assert "verify-call counter" in found.readings[0].warnings[0]
    many = read_device_timer(without(BEFORE), without(AFTER), concurrency=16)
    assert many.readings == ()
    assert "number of passes is not known" in (many.why or "")


def test_an_older_version_has_another_name_and_no_phases() -> None:
    name = "gpu_execution_seconds_total"
    before = scrape(name=name, seconds={"decode": 0.0})
    after = scrape(name=name, seconds={"decode": 4.5}, graph=1100, verify_calls=1100)
    assert means(read_device_timer(before, after, concurrency=1, version="0.5.9")) == {Phase.DECODE: 4.5}
    none = read_device_timer(scrape(), scrape(graph=300), concurrency=1, version="0.5.5")
    assert none.why == "SGLang 0.5.5 has no device timer: it came with 0.5.7, its phases with 0.5.11"


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-3"])
def test_a_counter_that_is_no_number_makes_no_reading(value: str) -> None:
    text = (
        f'# TYPE sglang:{SECONDS} counter\nsglang:{SECONDS}{{category="target_verify",tp_rank="0"}} {value}\n'
    )
    passes = '# TYPE sglang:cuda_graph_passes_total counter\nsglang:cuda_graph_passes_total{mode="decode_none",tp_rank="0"} 9\n'
    found = read_device_timer(read_metrics(""), read_metrics(text + passes), concurrency=1)
    assert found.readings == ()
    assert found.why


def test_a_page_that_is_not_sglangs() -> None:
    found = read_device_timer(read_metrics(""), read_metrics("up 1\n"), concurrency=1)
    assert found.why == "nothing of SGLang in /metrics: is --enable-metrics set?"


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (scrape(seconds={**AFTER_SECONDS, "target_verify": 1e308}, graph=1100), "no call takes so long"),
        (scrape(seconds=AFTER_SECONDS, graph=1e308, eager=1e308), "that is no count"),
    ],
)
def test_counters_beyond_all_measure_make_no_reading(after: Scrape, words: str) -> None:
    found = read_device_timer(BEFORE, after, concurrency=1)
    assert found.readings == ()
    assert words in (found.why or "")


def test_requests_a_pass_beyond_all_measure_are_told_shortly() -> None:
    found = read_device_timer(
        BEFORE, scrape(seconds=AFTER_SECONDS, graph=101, verify_calls=1e15), concurrency=1
    )
    warnings = found.readings[0].warnings
    assert any("1e+15 requests a pass" in warning for warning in warnings)
    more = scrape(seconds=AFTER_SECONDS, graph=1100, verify_calls=1e306)
    assert all(
        len(w) < 200 for r in read_device_timer(BEFORE, more, concurrency=1).readings for w in r.warnings
    )


def test_more_ranks_than_a_server_has_are_cut_and_told() -> None:
    ranks = tuple(map(str, range(600)))
    before, after = (
        scrape(seconds={"target_verify": n * 1.0}, graph=n * 100, ranks=ranks, verify_calls=None)
        for n in (1, 2)
    )
    found = read_device_timer(before, after, concurrency=1)
    assert len(found.readings) == 128
    assert "600 ranks count, 128 of them are read" in found.readings[0].warnings
