"""A restart takes the workloads in question and no other: it is stored of these, and asked for nothing else."""

from __future__ import annotations

import pytest

from tests.verdicts.evidence import controls, eagle3, make_launch, make_rig, make_run, restarted, series
from tests.verdicts.phase_evidence import carrying, phase, table
from tokgate.errors import BaselineError
from tokgate.records import LaunchEvidence, RunEvidence
from tokgate.verdicts.baselines.draft import Draft

from .drafting import Shelf, drawn, named

BOTH = make_rig(
    workloads=[
        {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6},
        {"name": "pair", "prompts": "ids", "output_tokens": 256, "repeats": 6, "concurrency": 2},
    ]
)


def with_pair(launch: LaunchEvidence, rate: float = 44.6) -> LaunchEvidence:
    """Let a launch that took `single` take `pair` as well."""
    verify_ct = 138 if launch.launch.arm.startswith("eagle3") else None
    more = series((rate,) * 6, launch=launch.launch.id, workload="pair", concurrency=2, verify_ct=verify_ct)
    return launch.model_copy(update={"generations": (*launch.generations, *more)})


def of_single(launch: LaunchEvidence, number: int = 1) -> LaunchEvidence:
    """Return a restart of a launch that was asked for on account of `single` alone."""
    again = restarted(launch, number)
    own = again.launch.model_copy(update={"workloads": ("single",)})
    return again.model_copy(update={"launch": own})


def session(*more: LaunchEvidence) -> RunEvidence:
    before, after = controls()
    arm = eagle3()
    return make_run(
        with_pair(before),
        with_pair(arm, 59.8),
        with_pair(after),
        of_single(arm),
        of_single(before, 2),
        of_single(arm, 3),
        *more,
    )


def launches(found: tuple[Draft, ...]) -> dict[tuple[str, str], list[str]]:
    return {(d.new.arm, d.new.workload): [one.launch for one in d.new.launches] for d in found}


def test_a_restart_is_a_server_run_of_the_workloads_that_it_took() -> None:
    assert launches(drawn(session(), rig=BOTH)) == {
        ("baseline", "single"): ["01-baseline", "04-baseline-again", "08-baseline-restart-2"],
        ("baseline", "pair"): ["01-baseline", "04-baseline-again"],
        ("eagle3-2step", "single"): [
            "02-eagle3-2step",
            "07-eagle3-2step-restart-1",
            "09-eagle3-2step-restart-3",
        ],
        ("eagle3-2step", "pair"): ["02-eagle3-2step"],
    }


def test_restarts_are_appended_as_they_are_stored() -> None:
    first = drawn(session(), rig=BOTH)
    other = drawn(named(session(), "other"), Shelf(*(d.new for d in first)), rig=BOTH, append=True)

    assert [len(found) for found in launches(other).values()] == [6, 4, 6, 2]


def test_a_restart_with_instruments_gives_the_phases_of_what_it_took() -> None:
    planned = carrying(table(phase()))
    found = drawn(session(with_pair(planned), of_single(planned, 4)), rig=BOTH)
    phases = {d.new.workload: [one.launch for one in d.new.phases] for d in found if d.phases is not None}

    assert phases["single"] == ["05-eagle3-2step-phases", "10-eagle3-2step-restart-4"]
    assert "10-eagle3-2step-restart-4" not in phases["pair"]


def test_of_what_it_took_a_restart_lacks_nothing() -> None:
    lacking = of_single(eagle3(), 4)
    lacking = lacking.model_copy(update={"generations": lacking.generations[:3]})

    with pytest.raises(BaselineError) as refused:
        drawn(session(lacking), rig=BOTH)
    assert "10-eagle3-2step-restart-4: 3 good generations of single where 6" in refused.value.found


def test_what_forbids_to_store_a_session_is_told_first_whatever_restarts_it_has() -> None:
    """Not what its restarts were never asked for: a control that was still moving in another workload."""
    moving = make_launch(id="03-baseline-again", role="control-again")
    moving = moving.model_copy(
        update={
            "generations": (
                *moving.generations,
                *series(
                    (58.0, 44.6, 44.5, 44.7, 44.6, 44.5),
                    launch="03-baseline-again",
                    workload="pair",
                    concurrency=2,
                ),
            )
        }
    )
    run = session()
    run = run.model_copy(update={"launches": (*run.launches[:2], moving, *run.launches[3:])})

    for arm in (None, "baseline"):
        with pytest.raises(BaselineError) as refused:
            drawn(run, rig=BOTH, arm=arm)
        assert (
            "the run is invalid for pair: 03-baseline-again: the warm-up of pair was not over"
            in refused.value.found
        )
