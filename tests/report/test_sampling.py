"""What was measured beyond the plan, as reports tell it."""

from __future__ import annotations

from tests.verdicts.evidence import eagle3, make_generation, make_launch, make_rig, make_run
from tokgate.records import Launch, LaunchEvidence, Outcome, RunEvidence, SamplingStep, Verdict
from tokgate.report.sampling import lines_of, rows_of, sampling_of

ARM = "eagle3-2step"
FIRST, SECOND, THIRD = (f"{6 + n:02d}-{ARM}-restart-{n}" for n in (1, 2, 3))


def restart(name: str, number: int, wall_s: float | None = 15.2) -> LaunchEvidence:
    launch = Launch(id=name, arm=ARM, role="restart", round=number, workloads=("single",))
    return LaunchEvidence(launch=launch, wall_s=wall_s)


def step(
    number: int, *launches: str, stop: bool = False, reason: str = "decode is undecided"
) -> SamplingStep:
    return SamplingStep(
        round=number, stop=stop, reason=reason, launches=launches, left_s=180.0 - 15 * number, budget_s=180.0
    )


def run(*restarts: LaunchEvidence, steps: tuple[SamplingStep, ...] = ()) -> RunEvidence:
    return make_run(eagle3(), *restarts).model_copy(update={"sampling": steps})


RIG = make_rig(sampling={"gpu_time_s": 180})


def test_nothing_is_told_where_no_number_was_asked_for() -> None:
    assert sampling_of(RIG, run()) is None


def test_a_session_that_needed_no_restart_says_why() -> None:
    found = sampling_of(RIG, run(steps=(step(1, stop=True, reason="every question is settled"),)))
    assert found is not None
    assert list(lines_of(found)) == ["sampling: no restart beyond the plan; every question is settled"]
    assert found.spent_s == 0.0


def test_each_decision_has_its_launches_its_reason_and_its_cost() -> None:
    steps = (step(1, FIRST, SECOND), step(2, THIRD), step(3, stop=True, reason="every question is settled"))
    restarts = (restart(FIRST, 1), restart(SECOND, 1, 14.8), restart(THIRD, 2))
    found = sampling_of(RIG, run(*restarts, steps=steps))
    assert found is not None
    assert [(d.launches, d.took_s) for d in found.decisions] == [
        ((FIRST, SECOND), 30.0),
        ((THIRD,), 15.2),
        ((), None),
    ]
    assert next(lines_of(found)) == (
        "sampling: 3 restarts beyond the plan, 45 of 180 s; every question is settled"
    )
    rows = list(rows_of(found))
    assert rows[0] == ("go on (1)", f"{FIRST}, {SECOND}", "decode is undecided", "30.0 s", "165.0 s")
    assert rows[-1][0] == "stop"


def test_what_was_asked_for_and_not_made_is_told_and_so_is_a_session_that_broke_off() -> None:
    found = sampling_of(RIG, run(restart(FIRST, 1, None), steps=(step(1, FIRST, SECOND),)))
    assert found is not None
    assert found.decisions[0].left_out == (SECOND,)
    assert found.decisions[0].took_s is None
    assert found.stopped is None
    assert "it was broken off before the rule stopped" in next(lines_of(found))
    assert f"(left out: {SECOND})" in next(rows_of(found))[1]


def test_starts_added_for_their_spread_are_counted_and_warm_ups_are_none() -> None:
    rates = (44.6, 46.0, 43.0, 45.5, 43.5, 44.6, 45.0, 44.0)
    judged = [make_generation(index=n, tok_s=rate) for n, rate in enumerate(rates, start=1)]
    warm = make_generation(index=0, tok_s=20.0, warmup=True)
    found = sampling_of(make_rig(), make_run(make_launch((warm, *judged))))
    assert found is not None
    assert found.more_starts == ("01-baseline: 2 more of single",)
    assert list(lines_of(found))[-1].endswith("starts added for their spread: 01-baseline: 2 more of single")


def test_where_the_rule_wants_more_than_was_measured_that_is_said() -> None:
    open_one = Verdict(
        check="stored_baseline",
        outcome=Outcome.INCONCLUSIVE,
        headline="decode is undecided",
        arm=ARM,
        workload="single",
        metric="decode_tok_s",
        wanted={ARM: 1},
    )
    evidence = run(restart(FIRST, 1), steps=(step(1, FIRST, SECOND),))
    found = sampling_of(RIG, evidence, [open_one])
    assert found is not None
    assert found.would_go_on == f"1 more of {ARM}: decode is undecided"
    assert any("the rule would go on" in line for line in lines_of(found))
    settled = sampling_of(RIG, evidence, [open_one.model_copy(update={"outcome": Outcome.PASS})])
    assert settled is not None
    assert settled.would_go_on is None
