"""Starts beyond a workload's repeats: which they are, of which launches, and when a launch has enough."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.verdicts.evidence import make_generation, make_rig
from tokgate.records import Generation, GenerationStatus, Launch
from tokgate.rig.models import Rig
from tokgate.session.extra_starts import extra_batches, has_enough, most_starts

CONTROL = Launch(id="01-baseline", arm="baseline", role="control")
ARM = Launch(id="02-eagle3-2step", arm="eagle3-2step", role="arm")
QUIET = (44.60, 44.59, 44.61, 44.60, 44.58, 44.62)
WIDE = (44.6, 46.0, 43.0, 45.5, 43.5, 44.6)


def rig(**sampling: float) -> Rig:
    return make_rig(sampling=sampling)


def taken(rates: Sequence[float], *, workload: str = "single") -> list[Generation]:
    return [make_generation(index=n, tok_s=rate, workload=workload) for n, rate in enumerate(rates)]


def test_they_ask_the_prompts_of_the_judged_starts_again_and_go_on_counting() -> None:
    pair = rig().workload("pair")
    found = list(extra_batches(rig(most_starts=2.5), CONTROL, pair))
    assert len(found) == 6  # four are planned, ten the most
    assert [batch.number for batch in found] == list(range(5, 11))
    assert [batch.indexes for batch in found] == [(2, 3), (4, 5), (6, 7), (8, 9), (2, 3), (4, 5)]
    assert not any(batch.warmup for batch in found)


def test_prompts_that_must_never_repeat_do_not() -> None:
    pair = rig().workload("pair").model_copy(update={"cache": "unique"})
    found = [batch.indexes for batch in extra_batches(rig(), CONTROL, pair)]
    assert found == [(10, 11), (12, 13), (14, 15), (16, 17)]


@pytest.mark.parametrize("role", ["nccl-off", "instrumented", "sweep", "sweep-control", "nccl-proof"])
def test_only_launches_that_stand_for_their_arm_take_them(role: str) -> None:
    launch = Launch.model_validate({"id": "09-x", "arm": "baseline", "role": role})
    assert list(extra_batches(rig(), launch, rig().workload("single"))) == []


def test_none_where_the_rig_wants_none() -> None:
    single = rig().workload("single")
    assert list(extra_batches(rig(gpu_time_s=0), CONTROL, single)) == []
    assert list(extra_batches(rig(most_starts=1), CONTROL, single)) == []
    assert most_starts(rig(most_starts=1), single) == 6


def test_a_quiet_launch_has_enough_and_one_that_spreads_has_not() -> None:
    single = rig().workload("single")
    assert has_enough(rig(), CONTROL, single, taken(QUIET))
    assert not has_enough(rig(), CONTROL, single, taken(WIDE))
    assert has_enough(rig(), CONTROL, single, taken(WIDE * 2)[:12])


@pytest.mark.parametrize(
    "moving",
    [
        (44.6, 43.9, 43.1, 42.4, 41.6, 40.9),  # a trend from first to last
        (30.0, 44.6, 44.5, 44.7, 44.6, 44.5),  # a warm-up that was not over
    ],
)
def test_numbers_that_are_still_moving_ask_for_no_more(moving: Sequence[float]) -> None:
    """They spread as far as noise does, but the launch is invalid already."""
    single = rig().workload("single")
    assert has_enough(rig(), CONTROL, single, taken(moving))
    assert not has_enough(rig(), CONTROL, single, taken(moving[:2]))


def test_warm_ups_and_other_workloads_are_not_looked_at() -> None:
    single = rig().workload("single")
    warm = [make_generation(index=90, tok_s=20.0, warmup=True)]
    other = taken(WIDE, workload="pair")
    assert has_enough(rig(), CONTROL, single, [*warm, *taken(QUIET), *other])


def test_a_failed_start_asks_for_no_more() -> None:
    failed = make_generation(index=6, status=GenerationStatus.TIMED_OUT, why="planted")
    assert has_enough(rig(), CONTROL, rig().workload("single"), [*taken(WIDE), failed])


def test_speculation_is_watched_by_its_cycle_since_prompts_differ_in_acceptance() -> None:
    single = rig().workload("single")
    # The same cycle with another acceptance each time: tok/s spread by a third, the machine does not.
    calls = (140, 120, 160, 130, 150, 140)
    steady = [
        make_generation(index=n, launch=ARM.id, tok_s=45.0 * 140 / count, verify_ct=count)
        for n, count in enumerate(calls)
    ]
    assert has_enough(rig(), ARM, single, steady)
