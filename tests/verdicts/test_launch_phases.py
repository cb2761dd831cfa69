from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_rig
from tests.verdicts.phase_evidence import NAME, NO_PROBE, agreement, carrying, phase, table, untold
from tokgate.records import LaunchEvidence
from tokgate.records.phases import Phase, PhaseReading, PhaseSource
from tokgate.verdicts.launch_phases import LaunchPhases, launch_phases, stored_runs_of
from tokgate.verdicts.phase_parts import PhaseParts, parts_of

RUN = "20261129T120000-small"
# Six starts at 59.8 tok/s in 138 verify calls of 256 tokens: 255 / 59.8 / 138 s a cycle.
CYCLE = 255 / 59.8 / 138 * 1e3


def told(launch: LaunchEvidence) -> LaunchPhases:
    found = launch_phases(make_rig(), RUN, launch, "single")
    assert isinstance(found, LaunchPhases), found
    return found


def timer(phase_: Phase, mean_ms: float) -> PhaseReading:
    one = phase(phase_, (mean_ms,), source="device-timer", clock="gpu", graph_share=None)
    return one.model_copy(update={"starts": (), "p50_ms": None})


def of(found: LaunchPhases, source: PhaseSource) -> PhaseParts:
    parts = parts_of([found], source)
    assert parts is not None
    return parts


def whole(**changes: float) -> tuple[PhaseReading, ...]:
    """Draft, verify and extend of six starts, as the probe has them."""
    truth = {Phase.DRAFT: 0.5, Phase.VERIFY: 25.0, Phase.DRAFT_EXTEND: 1.0}
    truth |= {Phase(name): value for name, value in changes.items()}
    return tuple(phase(p, tuple(v * (1 + n / 1000) for n in range(6))) for p, v in truth.items())


def test_every_start_is_kept_with_source_clock_and_rank() -> None:
    slow = tuple(r.model_copy(update={"rank": 1}) for r in whole(verify=26.0))
    found = told(carrying(table(*whole(), *slow, agreements=(agreement(0.4, agrees=False),))))
    assert (found.run_id, found.launch) == (RUN, NAME)
    assert [len(c.cycle_ms) for c in found.cycles] == [1] * 6
    assert found.cycles[0].cycle_ms[0] == pytest.approx(CYCLE)
    assert {(r.source, r.clock, r.rank, r.ranks) for r in found.readings} == {("probe", "gpu", 1, 2)}
    assert [r.phase for r in found.readings] == [Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND]
    assert [s.mean_ms for s in found.readings[1].starts][:2] == pytest.approx([26.0, 26.026])
    assert "+40.0%" in found.warnings[0]
    assert LaunchPhases.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        (carrying(untold()), NO_PROBE),
        (carrying(None), "no source of"),
        (carrying(table(phase(Phase.STEP, source="cycle", clock="wall"))), "told of verify"),
        (carrying(table(phase(mean_ms=-1.0))), "is no time: mean_ms"),
        (carrying(table(phase(mean_ms=float("nan")))), "is no time: mean_ms"),
        (carrying(table(*whole())).model_copy(update={"generations": ()}), "0 good generations"),
        (carrying(table(*whole())).model_copy(update={"liveness": None}), "never finished"),
    ],
)
def test_what_tells_nothing_says_why(launch: LaunchEvidence, why: str) -> None:
    found = launch_phases(make_rig(), RUN, launch, "single")
    assert isinstance(found, str)
    assert why in found


def test_a_phase_is_a_part_of_the_cycle_of_its_own_start() -> None:
    parts = of(told(carrying(table(*whole()))), "probe")
    assert (parts.clock, parts.spread) == ("gpu", "probe")
    assert parts.parts[Phase.VERIFY] == pytest.approx([25.0 * (1 + n / 1000) / CYCLE for n in range(6)])


def test_a_start_that_the_probe_was_off_in_is_left_out() -> None:
    readings = tuple(r.model_copy(update={"starts": r.starts[::2]}) for r in whole())
    parts = of(told(carrying(table(*readings))), "probe")
    assert [len(values) for values in parts.parts.values()] == [3, 3, 3]
    assert len(parts.cycle_ms) == 6


def test_a_mean_of_the_device_timer_is_spread_as_the_probes_starts_are() -> None:
    timers = (timer(Phase.DRAFT, 0.4), timer(Phase.VERIFY, 24.0), timer(Phase.DRAFT_EXTEND, 0.9))
    both = of(told(carrying(table(*whole(), *timers))), "device-timer")
    verify = both.parts[Phase.VERIFY]
    assert both.spread == "probe"
    assert sum(verify) / 6 == pytest.approx(24.0 / CYCLE)
    assert verify[5] - verify[0] == pytest.approx(25.0 * 0.005 / CYCLE)
    alone = of(told(carrying(table(*timers))), "device-timer")
    assert (alone.spread, [len(v) for v in alone.parts.values()]) == (None, [1, 1, 1])


def test_launches_pool_their_starts_and_two_clocks_are_no_source() -> None:
    one = told(carrying(table(*whole())))
    other = told(carrying(table(*(r.model_copy(update={"clock": "host"}) for r in whole()))))
    pooled = parts_of([one, one], "probe")
    assert pooled is not None
    assert len(pooled.parts[Phase.VERIFY]) == 12
    assert parts_of([one, other], "probe") is None
    assert parts_of([one], "device-timer") is None
    assert parts_of([], "probe") is None


def test_a_phase_that_one_launch_lacks_is_none_of_the_side() -> None:
    one, other = told(carrying(table(*whole()))), told(carrying(table(*whole()[1:])))
    pooled = parts_of([one, other], "probe")
    assert pooled is not None
    assert Phase.DRAFT not in pooled.parts


def with_step(**changes: float) -> tuple[PhaseReading, ...]:
    """The phases of `whole`, with what is left of a step of 28 ms and with the step."""
    rest = phase(Phase.REST, tuple(1.5 * (1 + n / 1000) for n in range(6)))
    step = phase(Phase.STEP, tuple(28.0 * (1 + n / 1000) for n in range(6)))
    return (*whole(**changes), rest, step)


@pytest.mark.parametrize(
    ("changes", "odd"),
    [
        ({}, None),
        ({"verify": 25.2}, None),  # some steps lost a phase
        ({"verify": 12.5}, "phases and rest by the probe add up to 15.539 ms, its step is 28.070 ms"),
        ({"draft": 0.9}, "add up to 28.471 ms"),
    ],
)
def test_phases_and_rest_are_the_step(changes: dict[str, float], odd: str | None) -> None:
    found = launch_phases(make_rig(), RUN, carrying(table(*with_step(**changes))), "single")
    assert isinstance(found, LaunchPhases) is (odd is None)
    assert odd is None or odd in str(found)


def test_a_single_start_and_the_device_timer_are_added_up_as_well() -> None:
    kept = told(carrying(table(*with_step())))
    draft, verify, *others = kept.readings
    swapped = tuple(
        s.model_copy(update={"mean_ms": s.mean_ms * (0.5 if s.batch == 0 else 1.1)}) for s in verify.starts
    )
    readings = (draft, verify.model_copy(update={"starts": swapped}), *others)
    assert "in start 0" in (kept.model_copy(update={"readings": readings}).odd or "")
    rest = CYCLE - 24.0 - 0.4 - 0.9
    for ms, odd in ((24.0, False), (12.0, True)):
        timers = (
            timer(p, v)
            for p, v in zip(
                (Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND, Phase.REST), (0.4, ms, 0.9, rest), strict=True
            )
        )
        found = launch_phases(make_rig(), RUN, carrying(table(*timers)), "single")
        assert isinstance(found, str) is odd, found


def test_a_call_of_no_time_is_none() -> None:
    for zero in (phase(mean_ms=0.0), phase(starts=(0.0, *[5.0] * 5))):
        assert "takes no time" in str(launch_phases(make_rig(), RUN, carrying(table(zero)), "single"))
    told(carrying(table(*whole(), phase(Phase.REST, (0.0,) * 6))))


def test_a_workload_that_the_instruments_leave_out_is_named() -> None:
    rig = make_rig(instruments={"workloads": ["pair"]})
    found = launch_phases(rig, RUN, carrying(table(*whole())), "single")
    assert found == f"{NAME} did not take single: [instruments] of the rig leave it out"


def test_what_is_kept_tells_how_far_verify_differs_from_run_to_run() -> None:
    """As the checks have it: the middle of a start's calls, and its mean of the step's."""
    found = told(carrying(table(*whole(), phase(Phase.STEP, tuple(30.0 * (1 + n / 1000) for n in range(6))))))
    again = found.model_copy(update={"run_id": "another"})
    runs = stored_runs_of((found, again))

    assert [(r.session, r.launch) for r in runs["verify_ms"]] == [(RUN, NAME), ("another", NAME)]
    assert runs["verify_ms"][0].values[:2] == pytest.approx((25.0, 25.025))
    assert runs["verify_share"][0].values == pytest.approx((25 / 30,) * 6)
    assert stored_runs_of(()) == {}
    without = found.model_copy(
        update={"readings": tuple(r for r in found.readings if r.phase is not Phase.STEP)}
    )
    assert stored_runs_of((without,)).keys() == {"verify_ms"}
