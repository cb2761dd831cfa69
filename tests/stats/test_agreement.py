from __future__ import annotations

from typing import Any

import pytest

from tokgate.records.phases import Agreement, Phase, PhaseReading, PhaseSource
from tokgate.stats.agreement import agreements, uncompared

PHASES = (Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND)


def taken(source: PhaseSource, phase: Phase, ms: float, **more: Any) -> PhaseReading:
    clock = {"cycle": "wall"}.get(source, "gpu")
    first = {"clock": clock, "n": 400, "concurrency": 1, "workload": "short", **more}
    return PhaseReading(phase=phase, source=source, mean_ms=ms, **first)


def three(source: PhaseSource, draft: float, verify: float, extend: float, **more: Any) -> list[PhaseReading]:
    return [taken(source, p, ms, **more) for p, ms in zip(PHASES, (draft, verify, extend), strict=True)]


CYCLE = taken("cycle", Phase.STEP, 5.90)
TIMER = three("device-timer", 0.25, 5.33, 0.29)
PROBE = three("probe", 0.278, 5.359, 0.372)


def named(found: tuple[Agreement, ...], start: str) -> Agreement:
    return next(a for a in found if a.name.startswith(start))


def test_what_one_gpu_showed_agrees() -> None:
    found = agreements([CYCLE, *TIMER, *PROBE, taken("probe", Phase.STEP, 6.02)])
    assert [a.words for a in found if not a.agrees] == []
    assert len(found) == 6
    words = named(found, "sum of phases (device-timer)").words
    assert "5.870 and 5.900 ms, -0.5%, within -20% to +3%" in words


@pytest.mark.parametrize(
    ("readings", "name"),
    [
        ([CYCLE, *three("device-timer", 0.25, 4.0, 0.29)], "sum of phases"),
        ([CYCLE, *three("device-timer", 0.25, 5.9, 0.29)], "sum of phases"),
        ([*TIMER, *three("probe", 0.278, 4.9, 0.372)], "verify: probe"),
        ([*TIMER, *three("probe", 0.278, 6.9, 0.372)], "verify: probe"),
        ([*TIMER, *three("probe", 0.6, 5.36, 0.372)], "draft: probe"),
        ([CYCLE, *PROBE, taken("probe", Phase.STEP, 7.0)], "step (probe)"),
    ],
)
def test_what_is_too_far_apart_does_not(readings: list[PhaseReading], name: str) -> None:
    (wrong,) = [a for a in agreements(readings) if not a.agrees]
    assert wrong.name.startswith(name)
    assert "outside" in wrong.words
    assert wrong.reason


def test_a_tenth_of_a_millisecond_is_no_disagreement_however_short_the_phase() -> None:
    found = agreements([*three("device-timer", 0.02, 5.33, 0.29), *three("probe", 0.10, 5.36, 0.3)])
    assert named(found, "draft").agrees
    assert named(found, "draft").apart == pytest.approx(4.0)


@pytest.mark.parametrize(("in_graphs", "agrees"), [(0.0, True), (None, False), (1.0, False)])
def test_outside_a_graph_the_call_has_the_host_s_launching_in_it(
    in_graphs: float | None, agrees: bool
) -> None:
    """As on one H200 with --disable-cuda-graph."""
    timer = [taken("device-timer", Phase.DRAFT, 1.167), taken("device-timer", Phase.VERIFY, 18.467)]
    probe = three("probe", 2.327, 20.670, 2.325, graph_share=in_graphs)
    assert named(agreements([*timer, *probe]), "draft").agrees is agrees


def test_different_loads_are_not_compared() -> None:
    wide = [r.model_copy(update={"concurrency": 16}) for r in TIMER]
    assert agreements([CYCLE, *wide]) == ()
    assert [a.name for a in agreements([*wide, *PROBE])] == []


def test_every_rank_of_the_probe_is_asked_but_the_timer_speaks_for_its_own() -> None:
    timer = [r.model_copy(update={"rank": 0}) for r in TIMER]
    ranks = [r for rank in (0, 1) for r in three("probe", 0.278, 5.359, 0.372, rank=rank)]
    found = agreements([CYCLE, *timer, *ranks])
    assert sum(a.name.startswith("sum of phases (probe") for a in found) == 2
    assert sum(a.name.startswith("verify: probe") for a in found) == 1


@pytest.mark.parametrize(
    ("probe", "agrees"), [(4.9, True), (5.359, True), (5.7, True), (4.0, False), (6.8, False)]
)
def test_a_probe_lies_between_the_kernels_of_a_trace_and_its_marks(probe: float, *, agrees: bool) -> None:
    trace = taken("trace", Phase.VERIFY, 5.775, busy_ms=4.723, n=5)
    (found,) = agreements([trace, taken("probe", Phase.VERIFY, probe)])
    assert found.agrees is agrees
    assert "4.723 to 5.775 ms" in found.name


def test_on_a_cpu_the_scheduler_may_take_half_the_cycle() -> None:
    host = three("probe", 2.0, 5.0, 1.0, clock="host")
    assert all(a.agrees for a in agreements([taken("cycle", Phase.STEP, 16.0), *host]))
    assert not agreements([taken("cycle", Phase.STEP, 7.0), *host])[0].agrees


def test_single_batch_sizes_are_left_out() -> None:
    assert agreements([r.model_copy(update={"requests": 1}) for r in (CYCLE, *TIMER)]) == ()
    assert agreements([]) == ()


@pytest.mark.parametrize("timer", [TIMER, three("device-timer", 0.05, 0.05, 0.05)])
def test_a_phase_of_no_time_agrees_with_nothing(timer: list[PhaseReading]) -> None:
    """As many comparisons as before, and none is lost for having a 0 in it."""
    as_before = agreements([CYCLE, *timer, *PROBE])
    zero = [r.model_copy(update={"mean_ms": 0.0}) for r in PROBE]
    found = agreements([CYCLE, *timer, *zero])
    assert [a.name for a in found] == [a.name for a in as_before]
    assert not any(a.agrees for a in found if "device-timer)" not in a.name)
    both = agreements([r.model_copy(update={"mean_ms": 0.0}) for r in (CYCLE, *TIMER, *PROBE)])
    assert both
    assert not any(a.agrees for a in both)


@pytest.mark.parametrize(
    ("times", "agrees"), [(0.45, False), (0.84, False), (0.9, True), (1.0, True), (3.0, True)]
)
def test_a_hosts_clock_may_show_more_than_the_device_timer_and_not_far_less(
    times: float, *, agrees: bool
) -> None:
    """A slow rank's own host clock, as its starts are judged: in the middle, where no pause of the host is."""
    probe = taken("probe", Phase.VERIFY, 9.0, p50_ms=5.33 * times, clock="host")
    (found,) = agreements([*TIMER, probe])
    assert found.agrees is agrees
    assert "-15% and longer" in found.words


def test_a_tenth_of_a_millisecond_is_no_disagreement_by_a_hosts_clock_either() -> None:
    found = agreements([*TIMER, taken("probe", Phase.DRAFT, 0.16, clock="host")])
    assert [a.agrees for a in found] == [True]


def test_a_rig_without_a_device_timer_has_nothing_to_compare_a_hosts_clock_with() -> None:
    assert agreements([taken("probe", Phase.VERIFY, 2.0, clock="host")]) == ()


def test_one_pause_of_a_busy_host_in_one_call_is_no_disagreement() -> None:
    """The mean of that rank has it, the middle has not."""
    paused = [
        r.model_copy(update={"clock": "host", "mean_ms": 1.2 * r.mean_ms, "p50_ms": r.mean_ms}) for r in PROBE
    ]
    (found,) = agreements([CYCLE.model_copy(update={"mean_ms": 6.1, "p50_ms": 6.1}), *paused])
    assert found.agrees
    assert found.first_ms == pytest.approx(6.009)


def test_a_plain_step_is_compared_with_the_time_of_a_token() -> None:
    cycle = taken("cycle", Phase.DECODE, 11.2)
    (good,) = agreements([cycle, taken("probe", Phase.DECODE, 11.1)])
    assert (good.name, good.agrees) == ("decode (probe) against the cycle", True)
    (bad,) = agreements([cycle, taken("probe", Phase.DECODE, 12.0)])
    assert not bad.agrees


@pytest.mark.parametrize(("probe", "agrees"), [(2.0, True), (3.5, True), (5.3, False), (1.0, False)])
def test_profiled_on_a_hosts_clock_a_phase_is_longer_than_a_true_one(probe: float, *, agrees: bool) -> None:
    trace = taken("trace", Phase.DRAFT, 3.4, clock="host", rank=0)
    (found,) = agreements([trace, taken("probe", Phase.DRAFT, probe, clock="host", rank=0)])
    assert found.agrees is agrees


def test_what_two_clocks_keep_apart_is_named() -> None:
    host = three("probe", 0.27, 5.4, 0.37, clock="host")
    traced = [taken("trace", Phase.VERIFY, 5.5)]
    (timed,) = uncompared([*TIMER, *host], "short")
    assert timed.startswith("draft, verify, draft_extend by the probe's host clock")
    assert uncompared([*traced, *host], "short") == (
        "verify: probe and trace not compared, they have two clocks",
    )
    assert uncompared([*TIMER, *traced, *PROBE], "short") == ()
    assert uncompared([*TIMER, *host], "long") == ()
