"""What several launches object to together, and what becomes of a verdict on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import STEADY, controls, eagle3, make_launch, make_rig, series
from tokgate.records import ClientLoad, LaunchEvidence, Liveness, Outcome, Verdict
from tokgate.verdicts.baselines.file import BaselineLaunch
from tokgate.verdicts.validity import between_runs, establish_arm, invalidities, spoiled, with_client

RIG = make_rig()
OLD = (("a", 44.6), ("a", 44.5), ("b", 44.7), ("b", 44.6), ("c", 44.5), ("c", 44.6))


def stored(*runs: tuple[str, float]) -> dict[str, tuple[BaselineLaunch, ...]]:
    """Runs of the control arm, by session, with the value of all their starts."""
    return {
        "baseline": tuple(
            BaselineLaunch(run_id=session, launch=f"{n:02d}", samples={"decode_tok_s": ((value,),) * 6})
            for n, (session, value) in enumerate(runs)
        )
    }


def times(factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in STEADY)


def restart(rates: Sequence[float], number: int = 1, **changes: Any) -> LaunchEvidence:
    name = f"0{4 + number}-baseline-restart-{number}"
    return make_launch(series(rates, launch=name), id=name, role="restart", **changes)


def test_a_healthy_session_has_nothing_against_it() -> None:
    assert invalidities(RIG, (*controls(), eagle3()), "single", stored(*OLD)) == ()
    assert isinstance(establish_arm(RIG, (eagle3(),), "single", check="x", beside=controls()), tuple)


@pytest.mark.parametrize(
    ("factor", "known", "drifted"),
    [
        (0.9, False, True),
        (0.94, False, False),  # two restarts of an unknown server may differ by as much
        (0.94, True, True),
        (0.997, True, False),  # below the floor
        (1.06, True, True),  # the other way is no better
    ],
)
def test_a_drift_is_called_beyond_what_restarts_are_known_to_differ_by(
    factor: float, known: bool, drifted: bool
) -> None:
    kept = stored(*OLD) if known else {}
    # The third run of a kind: with a stored one it would be two modes as well, were it to come back.
    found = [
        f.what
        for f in invalidities(RIG, controls(STEADY, times(factor)), "single", kept)
        if "drift" in f.what
    ]

    assert bool(found) is drifted
    if drifted:
        assert f"drifted by {factor - 1:+.1%}: control 44.6 before" in found[0]


def test_the_drift_of_the_controls_is_in_every_arm_between_them() -> None:
    refused = establish_arm(
        RIG, (eagle3(),), "single", check="decode_throughput", beside=controls(STEADY, times(0.9))
    )

    assert isinstance(refused, Verdict)
    assert refused.outcome is Outcome.INVALID
    assert refused.headline.startswith("decode_throughput on 02-eagle3-2step: the machine drifted by -10.0%")
    assert refused.launches == ("02-eagle3-2step",)


def test_a_control_with_a_fault_of_its_own_leaves_an_arm_to_be_judged() -> None:
    """Its drift is then unknown; what compares with it says so."""
    before, after = controls(STEADY, times(0.9))
    dead = after.model_copy(update={"liveness": Liveness(alive=False, answered=False, why="killed")})

    assert isinstance(establish_arm(RIG, (eagle3(),), "single", check="x", beside=(before, dead)), tuple)
    (found,) = invalidities(RIG, (eagle3(), before, dead), "single")
    assert found.what == "04-baseline-again: the server was dead after the last generation (killed)"


def test_two_modes_forbid_judging_the_arm_that_has_them() -> None:
    before, after = controls(STEADY, STEADY)
    launches = (before, after, restart(times(0.93)))
    (found,) = between_runs(RIG, launches, "single")

    assert found.what == (
        "server runs of baseline fall into two modes in single, 7.0% apart: decode 41.5 in 1, 44.6 tok/s in 2; or the "
        "machine moved between them"
    )
    assert found.evidence == (
        "this session: 01-baseline 44.6, 04-baseline-again 44.6, 05-baseline-restart-1 41.5 tok/s",
    )
    assert between_runs(RIG, (before, after, restart(STEADY)), "single") == ()
    assert between_runs(RIG, (eagle3(),), "single", beside=launches) == ()


def test_a_run_that_is_stored_already_is_not_counted_twice() -> None:
    """Else every pair of runs would fall into two groups without any spread."""
    before, after = controls(STEADY, times(0.96))
    samples = {
        launch.launch.id: {"decode_tok_s": tuple((v,) for v in rates)}
        for launch, rates in ((before, STEADY), (after, times(0.96)))
    }
    kept = {
        "baseline": tuple(
            BaselineLaunch(run_id="now", launch=name, samples=told) for name, told in samples.items()
        )
    }

    assert between_runs(RIG, (before, after), "single", baseline_runs=kept) == ()


def test_a_restart_that_did_not_take_the_workload_is_left_out() -> None:
    other = restart(())
    other = other.model_copy(update={"launch": other.launch.model_copy(update={"workloads": ("pair",)})})

    assert invalidities(RIG, (*controls(), other), "single") == ()
    assert isinstance(establish_arm(RIG, (controls()[0], other), "single", check="x"), tuple)
    refused = establish_arm(RIG, (other,), "single", check="x")
    assert isinstance(refused, Verdict)
    assert "no server run took single" in refused.headline


def test_prompts_from_the_cache_and_a_client_at_its_ceiling_are_in_every_number() -> None:
    load = ClientLoad(cpu_s=9.0, wall_s=10.0, events=9000, ceiling_events_per_s=1000.0)
    warm = tuple(
        g.model_copy(update={"counters": g.counters and g.counters.model_copy(update={"cached_tokens": 7})})
        for g in series()
    )
    for launch, words in (
        (make_launch(warm), "6 of 6 prompts came from the prefix cache (declared flush)"),
        (
            make_launch(client={"single": load}),
            "the client was the limit in single: client at 90.0% of its ceiling",
        ),
        (make_launch(client={}), "the client's own load was not recorded"),
    ):
        (found,) = invalidities(RIG, (launch,), "single")
        assert words in found.what
        refused = establish_arm(RIG, (launch,), "single", check="decode_throughput")
        assert isinstance(refused, Verdict)
        assert refused.outcome is Outcome.INVALID
        assert words in refused.headline


def test_a_verdict_tells_how_far_the_client_was_from_its_ceiling_where_it_was_nearest() -> None:
    near = ClientLoad(cpu_s=0.1, wall_s=10.0, events=2000, ceiling_events_per_s=2_000.0)
    verdict = Verdict(check="decode_throughput", outcome=Outcome.PASS, headline="decode 44.6 tok/s")
    told = with_client(verdict, (make_launch(), make_launch(client={"single": near})), "single")

    assert told.evidence == (
        "client at 10.0% of its ceiling (200 of 2,000 events/s against a server that does nothing, 1.0% of a core)",
    )
    assert with_client(verdict, (make_launch(client={}),), "single") == verdict


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.REGRESSED, Outcome.IMPROVED, Outcome.INCONCLUSIVE])
def test_no_outcome_survives_a_window_that_was_not_fit(outcome: Outcome) -> None:
    verdict = Verdict(
        check="stored_baseline",
        outcome=outcome,
        headline="decode 40.1 tok/s",
        launch="02-eagle3-2step",
        value=40.1,
        wanted={"eagle3-2step": 2},
        needs="2 more restarts of eagle3-2step",
    )
    found = invalidities(RIG, controls(STEADY, times(0.9)), "single")
    turned = spoiled(verdict, found)

    assert turned.outcome is Outcome.INVALID
    assert turned.headline.startswith("stored_baseline on 02-eagle3-2step: the machine drifted")
    assert (turned.value, turned.wanted, turned.needs) == (40.1, {}, None)
    assert turned.do is not None
    assert spoiled(verdict, ()) is verdict


def copy_of(launch: LaunchEvidence, **server: Any) -> LaunchEvidence:
    """The folder of a launch once more, under the name of a restart; `server`: what else was edited."""
    name = "09-eagle3-2step-restart-1"
    assert launch.server is not None
    return launch.model_copy(
        update={
            "launch": launch.launch.model_copy(update={"id": name, "role": "restart", "round": 1}),
            "generations": tuple(g.model_copy(update={"launch": name}) for g in launch.generations),
            "server": launch.server.model_copy(update=server),
        }
    )


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        ({}, "the same mark run/02-eagle3-2step"),
        ({"mark": "run/09"}, "the same process, 100 of local, started at 2026-11-29T12:00:00Z"),
        ({"mark": "run/09", "pid": 101}, "the same answer, 02-eagle3-2step-single-0"),
    ],
)
def test_a_launch_that_was_copied_is_no_further_server_run(edited: dict[str, Any], same: str) -> None:
    arm = eagle3()
    refused = establish_arm(RIG, (arm, copy_of(arm, **edited)), "single", check="x", beside=controls())

    assert isinstance(refused, Verdict)
    assert refused.outcome is Outcome.INVALID
    assert (
        "02-eagle3-2step and 09-eagle3-2step-restart-1 are one server run under two names" in refused.headline
    )
    assert same in refused.headline
    assert "judge the run folder as it was written" in (refused.do or "")


def test_a_control_that_was_copied_brackets_no_drift() -> None:
    first, _ = controls()
    again = copy_of(first).model_copy(
        update={
            "launch": first.launch.model_copy(
                update={"id": "09-eagle3-2step-restart-1", "role": "control-again"}
            )
        }
    )

    assert "one server run under two names" in invalidities(RIG, (first, eagle3(), again), "single")[0].what
