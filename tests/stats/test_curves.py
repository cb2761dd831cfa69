from __future__ import annotations

from tokgate.records.telemetry import Curve, GpuNow, GpuRow, HolderRow, Holding, HostRow, TelemetryRow
from tokgate.stats.curves import curves_of

NS = 1_000_000_000
HOT = 0x20  # sw_thermal_slowdown


def row(at_s: float, *, mhz: float | None = 1980.0, reasons: int = 0, gpu: int = 0) -> GpuRow:
    return GpuRow(at_ns=round(at_s * NS), gpus=(GpuNow(gpu, mhz, None, 60.0 + at_s, 400.0, 99.0, reasons),))


def holders(at_s: float, *mib: float | None) -> HolderRow:
    held = tuple(Holding(0, 7 + i, 1, m, "python3") for i, m in enumerate(mib))
    return HolderRow(at_ns=round(at_s * NS), holders=held)


def host(at_s: float, busy: int | None, total: int) -> HostRow:
    return HostRow(at_ns=round(at_s * NS), busy=busy, total=total)


def find(rows: list[TelemetryRow], quantity: str, *, most: int = 600) -> Curve:
    return next(c for c in curves_of(rows, most=most).curves if c.quantity == quantity)


def test_equal_values_are_kept_by_their_ends_and_counted_all() -> None:
    curve = find([row(i / 5) for i in range(50)], "sm_mhz")
    assert (curve.n, curve.values) == (50, (1980.0, 1980.0))
    assert curve.at_ns == (0, round(49 / 5 * NS))


def test_a_long_curve_keeps_its_dip() -> None:
    rows: list[TelemetryRow] = [row(i / 10, mhz=1980.0 + i % 3) for i in range(36_000)]
    rows[20_000] = row(2000.0, mhz=210.0)
    curve = find(rows, "sm_mhz")
    assert 210.0 in curve.values
    assert curve.n == 36_000
    assert len(curve.values) < 700


def test_a_line_breaks_where_nobody_looked_and_where_a_card_does_not_say() -> None:
    silent = find([row(0), row(0.5), row(9), row(9.5)], "sm_mhz")
    assert silent.values == (1980.0, 1980.0, None, 1980.0, 1980.0)
    unknown = find([row(0), row(0.5, mhz=None), row(1.0)], "sm_mhz")
    assert unknown.values == (1980.0, None, 1980.0)
    assert unknown.n == 2


def test_memory_is_that_of_all_holders_and_unknown_where_one_is() -> None:
    rows: list[TelemetryRow] = [
        row(0), row(2), holders(0, 100.0, 20.0), holders(1, 100.0), holders(2, 100.0, None), holders(3),
    ]  # fmt: skip
    assert find(rows, "memory_mib").values == (120.0, 100.0, None, 0.0)


def test_the_host_is_busy_by_the_ticks_between_two_rows() -> None:
    rows: list[TelemetryRow] = [
        host(0, 100, 1000),
        host(0.5, 150, 1100),
        host(1, None, 1200),
        host(1.5, 10, 1300),
    ]
    curve = find(rows, "host_busy")
    assert curve.values == (0.5,)
    assert curve.gpu is None


def test_a_card_is_held_back_from_the_first_to_the_last_row_that_says_so() -> None:
    rows = [row(i, reasons=HOT if i in (2, 3, 5) else 0x1) for i in range(7)]
    held = curves_of(rows).held_back
    assert [(h.reason, h.from_ns // NS, h.to_ns // NS) for h in held] == [
        ("sw_thermal_slowdown", 2, 3),
        ("sw_thermal_slowdown", 5, 5),
    ]


def test_a_launch_that_nobody_watched_has_no_curve() -> None:
    assert curves_of([]).curves == ()
    assert curves_of([host(0, 1, 2)]).curves == ()
