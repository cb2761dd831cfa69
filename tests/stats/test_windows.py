from __future__ import annotations

import pytest

from tests.stats.telemetry_rows import answer, generation, gpu, gpu_row, gpu_rows, host_row, process
from tokgate.records import GenerationStatus
from tokgate.records.telemetry import Spread, TelemetryRow, Window
from tokgate.stats.windows import longest_gap_s, windows_of


def only(rows: list[TelemetryRow], *, start: float = 10.0, end: float = 12.0, gpus: int = 1) -> Window:
    (window,) = windows_of([generation(start, end)], rows, gpus=gpus)
    return window


def test_a_window_holds_the_rows_between_its_first_request_and_its_last_byte() -> None:
    rows = [
        *gpu_rows(8.0, 9.8, gpu(sm=300.0, celsius=30.0)),
        gpu_row(10.0, gpu(sm=1980.0, celsius=50.0, watts=500.0)),
        gpu_row(10.5, gpu(sm=1900.0, celsius=61.0, watts=600.0)),
        gpu_row(11.0, gpu(sm=1950.0, celsius=60.0, watts=700.0)),
        gpu_row(11.9, gpu(sm=1960.0, celsius=60.0, watts=None)),
        *gpu_rows(12.2, 13.0, gpu(sm=300.0, celsius=99.0)),
    ]
    window = only(list(rows))
    (card,) = window.gpus

    assert card.rows == 4
    assert card.sm_mhz == Spread(minimum=1900.0, median=1955.0, maximum=1980.0)
    assert card.celsius_max == 61.0
    assert card.watts_mean == 600.0
    assert card.reasons == {}
    assert window.unknown is None
    assert window.gap_s == pytest.approx(0.9)


def test_reasons_are_counted_row_by_row_and_by_card() -> None:
    rows = [
        gpu_row(9.9, gpu(0), gpu(1)),
        gpu_row(10.4, gpu(0), gpu(1, mask=0x20)),
        gpu_row(11.2, gpu(0, mask=0x4), gpu(1, mask=0x24)),
        gpu_row(12.1, gpu(0), gpu(1)),
    ]
    window = only(list(rows), gpus=2)

    assert [card.reasons for card in window.gpus] == [
        {"sw_power_cap": 1},
        {"sw_power_cap": 1, "sw_thermal_slowdown": 2},
    ]


def test_what_no_row_tells_is_unknown() -> None:
    silent = gpu(sm=None, mask=None, celsius=None, watts=None, busy_percent=None)
    (card,) = only(list(gpu_rows(9.0, 13.0, silent))).gpus

    assert (card.sm_mhz, card.celsius_max, card.watts_mean, card.reasons) == (None, None, None, None)


def test_a_window_shorter_than_the_period_takes_the_rows_around_it() -> None:
    rows = [gpu_row(9.9, gpu(sm=1900.0)), gpu_row(10.1, gpu(sm=1800.0)), gpu_row(10.3, gpu(sm=300.0))]
    window = only(list(rows), start=9.95, end=10.05)

    assert window.gpus[0].sm_mhz == Spread(minimum=1800.0, median=1850.0, maximum=1900.0)
    assert window.unknown is None


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "no row at all"),
        (gpu_rows(10.5, 13.0), "the rows begin after its start or end before its end"),
        (gpu_rows(9.0, 11.0), "the rows begin after its start or end before its end"),
        ([*gpu_rows(9.0, 10.2), *gpu_rows(11.4, 13.0)], "1.2 s without a row"),
        ([*gpu_rows(8.0, 9.4), *gpu_rows(10.6, 13.0)], "1.2 s without a row"),
        ([gpu_row(8.0), gpu_row(13.0)], "5.0 s without a row"),
        ([gpu_row(1.0)], "the rows begin after its start or end before its end"),
        ([gpu_row(9.8 + i * 0.4, gpu(0), late_s=0.1 + (i == 3) * 1.5) for i in range(8)], "up to 1.5 s late"),
        ([*gpu_rows(9.0, 10.8), *gpu_rows(11.0, 13.0, gpu(0), gpu(1))], "a row tells of 1 GPUs"),
    ],
    ids=[
        "none",
        "late start",
        "early end",
        "inside",
        "into it",
        "over it",
        "one row",
        "delayed",
        "card lost",
    ],
)
def test_a_window_that_the_rows_do_not_cover_is_unknown(rows: list[TelemetryRow], why: str) -> None:
    assert why in (only(rows, gpus=2 if "GPUs" in why else 1).unknown or "")


@pytest.mark.parametrize("rows", [[gpu_row(9.9)], [gpu_row(9.9), gpu_row(20.0)], [gpu_row(20.0)]])
def test_a_lone_row_near_a_window_is_not_lent_to_it(rows: list[TelemetryRow]) -> None:
    assert only(rows, start=10.0, end=10.1).gpus == ()


def test_a_source_that_fell_silent_speaks_for_no_later_window() -> None:
    starts = [generation(10.0 * n, 10.0 * n + 2, batch=n) for n in range(1, 5)]
    windows = windows_of(starts, gpu_rows(8.0, 13.0), gpus=1)
    assert [bool(w.gpus) for w in windows] == [True, False, False, False]
    assert [w.unknown is None for w in windows] == [True, False, False, False]


def test_generations_that_start_together_are_one_window() -> None:
    together = [
        generation(10.0, 11.5, slot=0),
        generation(
            10.1, 12.0, slot=1, status=GenerationStatus.CUT, end_ns=None, first_byte_ns=11_000_000_000
        ),
    ]
    next_one = generation(13.0, 14.0, batch=1)
    warm = generation(5.0, 6.0, warmup=True)
    windows = windows_of([next_one, *together, warm], gpu_rows(0.0, 20.0), gpus=1)

    assert [(w.batch, w.warmup, w.failed) for w in windows] == [
        (0, True, False),
        (0, False, True),
        (1, False, False),
    ]
    assert (windows[1].start_ns, windows[1].end_ns) == (10_000_000_000, 11_500_000_000)


def test_the_hosts_share_is_between_the_rows_around_the_window() -> None:
    rows = [
        host_row(9.0, busy=0, total=0),
        host_row(9.9, busy=100, total=200, load1=3.0),
        host_row(10.9, busy=200, total=400, steal=4),
        host_row(11.8, busy=290, total=600, steal=10),
        host_row(12.1, busy=310, total=640, steal=22),
        host_row(15.0, busy=900, total=1000),
    ]
    window = only(list(rows), gpus=0)

    assert window.host_busy == pytest.approx(210 / 440)
    assert window.host_steal == pytest.approx(22 / 440)
    assert window.load1 == 3.0
    assert (window.unknown, window.gpus, window.strangers) == (None, (), None)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "no row at all"),
        ([host_row(11.0, busy=1, total=2)], "no rows around it"),
        ([host_row(9.0, busy=1, total=2), host_row(13.0, busy=1, total=9)], "4.0 s without a row"),
        ([host_row(9.9 + i * 0.5, busy=5, total=9) for i in range(6)], "the host's /proc/stat tells nothing"),
    ],
)
def test_a_host_that_was_not_seen_is_unknown(rows: list[TelemetryRow], why: str) -> None:
    window = only(rows, gpus=0)
    assert window.host_busy is None
    assert window.host_unknown == why


def test_who_computes_is_told_with_the_window() -> None:
    rows: list[TelemetryRow] = [
        *gpu_rows(9.0, 13.0),
        answer(9.5, 100),
        answer(10.5, 100, 4711),
        answer(11.5, 100, 4711),
        answer(12.5, 100),
        process(100, ours=True),
        process(4711, ours=False),
    ]
    (stranger,) = only(rows).strangers or ()

    assert (stranger.pid, stranger.user, stranger.command, stranger.gpus) == (4711, "ann", "train 4711", (0,))
    assert stranger.seen_after_s == 0.5


@pytest.mark.parametrize(
    ("stamps", "gap"),
    [([], None), ([5], None), ([15], None), ([5, 15], 10.0), ([10, 12], 2.0), ([1, 9, 10, 11, 12, 99], 1.0)],
)
def test_gaps(stamps: list[int], gap: float | None) -> None:
    second = 1_000_000_000
    assert longest_gap_s([s * second for s in stamps], 10 * second, 12 * second) == gap
