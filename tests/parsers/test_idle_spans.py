from __future__ import annotations

import math

from tokgate.parsers.idle_spans import SincePrefill, Timing, find_gaps


def line(second: int, step: float, *, rank: str | None = "TP0", after_prefill: bool = False) -> Timing:
    return Timing(rank, f"2026-01-01 00:00:{second:02d}", step, after_prefill)


def test_one_slow_line_between_fast_ones_is_a_pause() -> None:
    assert find_gaps([line(1, 1.0), line(2, 1.0), line(20, 30.0), line(21, 1.0)]) == {2}


def test_a_last_line_is_judged_by_the_one_before() -> None:
    assert find_gaps([line(1, 1.0), line(20, 30.0)]) == {1}


def test_a_first_line_is_judged_by_the_one_behind() -> None:
    assert find_gaps([line(1, 30.0), line(2, 1.0)]) == {0}


def test_slowness_that_lasts_is_no_pause() -> None:
    assert not find_gaps([line(1, 1.0), line(5, 4.0), line(9, 4.0), line(13, 4.0)])


def test_the_clock_can_rule_a_pause_out() -> None:
    assert not find_gaps([line(1, 1.0), line(2, 30.0), line(3, 1.0)])


def test_an_unreadable_clock_rules_nothing_out() -> None:
    lines = [line(1, 1.0), Timing("TP0", "12-16 14:27:08", 30.0, False), line(21, 1.0)]
    assert find_gaps(lines) == {1}
    assert find_gaps([Timing(None, None, step, False) for step in (1.0, 30.0, 1.0)]) == {1}


def test_milliseconds_and_commas_are_clocks_too() -> None:
    lines = [
        Timing(None, f"2026-01-01 00:00:0{s}", step, False) for s, step in (("1.100", 1.0), ("1,900", 9.0))
    ]
    assert not find_gaps(lines)


def test_lines_after_a_prefill_are_no_measure() -> None:
    assert not find_gaps([line(1, 1.0, after_prefill=True), line(20, 30.0)])


def test_ranks_are_apart() -> None:
    lines = [line(1, 1.0), line(1, 9.0, rank="TP1"), line(2, 1.0), line(9, 9.0, rank="TP1")]
    assert not find_gaps(lines)


def test_a_standstill_is_a_pause() -> None:
    assert find_gaps([line(1, 1.0), line(20, math.inf), line(21, 1.0)]) == {1}


def test_nothing() -> None:
    assert not find_gaps([])
    assert not find_gaps([line(1, 1.0)])


def test_a_prefill_spoils_one_line_of_its_rank() -> None:
    since = SincePrefill()
    since.prefill("TP0", rank_known=True)
    assert not since.decode("TP1", rank_known=True)
    assert since.decode("TP0", rank_known=True)
    assert not since.decode("TP0", rank_known=True)


def test_a_prefill_of_nobody_known_spoils_one_line_of_each() -> None:
    since = SincePrefill()
    since.prefill(None, rank_known=False)
    assert since.decode("TP0", rank_known=True)
    assert since.decode("TP1", rank_known=True)
    assert not since.decode("TP0", rank_known=True)


def test_a_decode_line_of_nobody_known_is_suspect_while_anyone_has_prefilled() -> None:
    since = SincePrefill()
    assert not since.decode(None, rank_known=False)
    since.prefill("TP0", rank_known=True)
    assert since.decode(None, rank_known=False)
    assert since.decode("TP0", rank_known=True)
