from __future__ import annotations

from typing import NamedTuple

import pytest

from tokgate.records import Sample
from tokgate.records.phases import Phase, PhaseReading, PhaseTable
from tokgate.stats.phases import (
    cycle_reading,
    graph_reading,
    probe_readings,
    reading,
    rest_by_cycle,
    rest_of_steps,
    share_of_cycle,
    starts_of,
)


class Call(NamedTuple):
    phase: Phase
    ms: float
    requests: int | None = 1
    graph: bool | None = None
    began_ns: int = 0


def cycle(at_ms: float, *, requests: int = 1, graph: bool | None = True, verify: float = 5.3) -> list[Call]:
    """0.25 + verify + 0.3 ms of phases, and 0.05 ms of rest."""

    def ns(ms: float) -> int:
        return round((at_ms + ms) * 1e6)

    return [
        Call(Phase.DRAFT, 0.25, requests, None, ns(0.01)),
        Call(Phase.VERIFY, verify, requests, graph, ns(0.3)),
        Call(Phase.DRAFT_EXTEND, 0.3, requests, None, ns(5.7)),
        Call(Phase.STEP, verify + 0.6, requests, None, ns(0)),
    ]


def sample(metric: str, value: float | None, workload: str = "short") -> Sample:
    return Sample(
        metric=metric, value=value, unit="ms", source="s", launch="01-a", workload=workload, index=0,
        why=None if value is not None else "not told",
    )  # fmt: skip


def find(found: tuple[PhaseReading, ...], phase: Phase, requests: int | None = None) -> PhaseReading:
    return next(r for r in found if r.phase is phase and r.requests == requests)


def test_mean_median_and_95_in_100() -> None:
    values = [float(v) for v in range(1, 101)]
    found = reading(Phase.VERIFY, "probe", "gpu", values, concurrency=1)
    assert found is not None
    assert (found.n, found.mean_ms, found.p50_ms, found.p95_ms) == (100, 50.5, 50.5, 95.0)


def test_few_calls_have_no_95_in_100_and_none_no_reading() -> None:
    few = reading(Phase.VERIFY, "probe", "gpu", [5.0] * 19, concurrency=1)
    assert few is not None
    assert few.p95_ms is None
    assert reading(Phase.VERIFY, "probe", "gpu", [], concurrency=1) is None
    assert reading(Phase.VERIFY, "probe", "gpu", [float("nan"), float("inf"), -1.0], concurrency=1) is None


def test_a_generations_cycle_is_wall_time_and_costs_nothing() -> None:
    samples = [
        sample("cycle_ms", 5.8),
        sample("cycle_ms", 6.0),
        sample("cycle_ms", None),
        sample("cycle_ms", 99.0, "long"),
    ]
    found = cycle_reading(samples, workload="short", concurrency=1)
    assert found is not None
    assert (found.phase, found.source, found.clock, found.n) == (Phase.STEP, "cycle", "wall", 2)
    assert found.mean_ms == pytest.approx(5.9)
    assert (found.cost or "").startswith("nothing")


def test_a_plain_arms_cycle_is_its_decode_step() -> None:
    found = cycle_reading([sample("decode_tok_s", 200.0)], workload="short", concurrency=1)
    assert found is not None
    assert (found.phase, found.mean_ms) == (Phase.DECODE, 5.0)


def test_a_speculating_arm_without_cycles_is_not_taken_for_a_plain_one() -> None:
    samples = [sample("decode_tok_s", 200.0), sample("accept_length", 2.0), sample("cycle_ms", None)]
    assert cycle_reading(samples, workload="short", concurrency=1) is None


def test_phases_of_the_probe_by_batch_and_over_all() -> None:
    calls = [c for n in range(30) for c in cycle(n * 6.0)]
    calls += [c for n in range(30, 40) for c in cycle(n * 6.0, requests=4, verify=8.3)]
    found = probe_readings(calls, clock="gpu", concurrency=4, workload="wide", rank=2)
    whole, alone, four = (find(found, Phase.VERIFY, size) for size in (None, 1, 4))
    assert (whole.n, alone.n, four.n) == (40, 30, 10)
    assert (alone.mean_ms, four.mean_ms) == pytest.approx((5.3, 8.3))
    assert whole.mean_ms == pytest.approx((30 * 5.3 + 10 * 8.3) / 40)
    assert (whole.rank, whole.workload, whole.concurrency, whole.graph_share) == (2, "wide", 4, 1.0)
    assert find(found, Phase.REST).mean_ms == pytest.approx(0.05)
    assert find(found, Phase.REST, 4).n == 10
    table = PhaseTable(launch="01-a", readings=found)
    assert table.find(Phase.VERIFY, "probe", concurrency=4) == (whole,)
    assert table.find(Phase.VERIFY, "probe", concurrency=1) == ()


def test_only_calls_of_the_window_count() -> None:
    calls = [c for n in range(10) for c in cycle(n * 6.0)]
    found = probe_readings(calls, clock="gpu", concurrency=1, between_ns=(round(12e6), round(35.9e6)))
    assert find(found, Phase.VERIFY).n == 4


def test_a_step_that_lacks_a_phase_has_no_rest() -> None:
    whole, torn = cycle(0), cycle(6.0)[1:]
    assert [r.began_ns for r in rest_of_steps([*whole, *torn])] == [0]


def test_without_a_step_there_is_no_rest() -> None:
    assert rest_of_steps([]) == []
    assert rest_of_steps([Call(Phase.VERIFY, 5.0, 1, True, 0)]) == []


def test_calls_are_summed_up_start_by_start_and_an_empty_start_is_left_out() -> None:
    many = [c for n in range(20) for c in cycle(10.0 * n, verify=5.0 + n)]
    found = starts_of(Phase.VERIFY, {2: many, 1: cycle(0.0), 3: []})
    assert [(s.batch, s.n, s.p50_ms, s.p95_ms) for s in found] == [(1, 1, 5.3, None), (2, 20, 14.5, 23.0)]


def test_steps_out_of_order_are_the_same_steps() -> None:
    calls = [c for n in range(5) for c in cycle(n * 6.0)]
    assert rest_of_steps(calls[::-1]) == rest_of_steps(calls)


def test_phases_longer_than_their_step_leave_no_rest() -> None:
    calls = [Call(Phase.VERIFY, 9.0, 1, None, 10), Call(Phase.STEP, 5.0, 1, None, 0)]
    assert rest_of_steps(calls) == []


@pytest.mark.parametrize(
    ("graphs", "share", "n"), [([True, False, None, True], 2 / 3, 3), ([None], None, 0), ([], None, 0)]
)
def test_graph_share_counts_the_calls_that_tell(
    graphs: list[bool | None], share: float | None, n: int
) -> None:
    found = graph_reading([Call(Phase.VERIFY, 5.0, 1, g) for g in graphs], concurrency=1)
    assert (found.share, found.n) == (share, n)
    assert (found.why is None) == (share is not None)


def timer(phase: Phase, ms: float) -> PhaseReading:
    return PhaseReading(
        phase=phase,
        source="device-timer",
        clock="gpu",
        n=1000,
        mean_ms=ms,
        concurrency=1,
        workload="short",
        rank=0,
    )


CYCLE = PhaseReading(
    phase=Phase.STEP, source="cycle", clock="wall", n=6, mean_ms=5.9, concurrency=1, workload="short"
)
TIMED = (timer(Phase.DRAFT, 0.25), timer(Phase.VERIFY, 5.33), timer(Phase.DRAFT_EXTEND, 0.29))


def test_the_rest_of_a_cycle_is_what_no_phase_has() -> None:
    (rest,) = rest_by_cycle([*TIMED, CYCLE])
    assert (rest.phase, rest.clock, rest.source) == (Phase.REST, "wall", "device-timer")
    assert rest.mean_ms == pytest.approx(0.03)
    assert "wall time less" in rest.warnings[-1]


def test_there_is_no_rest_of_another_load_or_without_a_phase() -> None:
    assert rest_by_cycle([*TIMED, CYCLE.model_copy(update={"concurrency": 16})]) == ()
    assert rest_by_cycle([*TIMED[:2], CYCLE]) == ()


def test_a_phases_share_is_of_its_own_step_or_of_the_cycle() -> None:
    assert share_of_cycle([*TIMED, CYCLE], Phase.VERIFY, TIMED[0]) == pytest.approx(5.33 / 5.9)
    found = probe_readings([c for n in range(3) for c in cycle(n * 6.0)], clock="gpu", concurrency=1)
    assert share_of_cycle(found, Phase.VERIFY, find(found, Phase.VERIFY)) == pytest.approx(5.3 / 5.9)
    assert share_of_cycle(TIMED, Phase.VERIFY, TIMED[0]) is None


@pytest.mark.parametrize("value", [1e308, float("inf"), float("nan")])
def test_times_beyond_all_measure_are_no_calls(value: float) -> None:
    found = reading(Phase.STEP, "cycle", "wall", [5.0, value, value], concurrency=1)
    assert found is not None
    assert (found.n, found.mean_ms) == (1, 5.0)
    assert reading(Phase.STEP, "cycle", "wall", [value] * 3, concurrency=1) is None
